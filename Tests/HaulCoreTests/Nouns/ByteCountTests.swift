import Testing

@testable import HaulCore

struct ByteCountTests {
    @Test(
        arguments: [
            ("0", 0), ("800000", 800_000), ("007", 7), ("1B", 1), ("500k", 500_000), ("500K", 500_000),
            ("500kB", 500_000), ("2M", 2_000_000), ("2m", 2_000_000), ("2MB", 2_000_000), ("3G", 3_000_000_000),
            ("1T", 1_000_000_000_000), ("1P", 1_000_000_000_000_000), ("9E", 9_000_000_000_000_000_000),
        ] as [(String, Int64)]
    )
    func readsPowersOfAThousand(_ text: String, _ bytes: Int64) {
        #expect(ByteCount(text)?.bytes == bytes)
    }

    @Test(
        arguments: [
            ("1Ki", 1 << 10), ("2MiB", 2 << 20), ("2mib", nil), ("2miB", 2 << 20), ("2MIB", 2 << 20), ("1Gi", 1 << 30),
            ("1Ti", 1 << 40), ("1Pi", 1 << 50), ("7Ei", 7 << 60),
        ] as [(String, Int64?)]
    )
    func readsPowersOf1024(_ text: String, _ bytes: Int64?) {
        #expect(ByteCount(text)?.bytes == bytes)
    }

    @Test(
        arguments: [
            ("1.5M", 1_500_000), ("0.5k", 500), ("1.50", 2), ("2.0", 2), ("0.0", 0), ("0.3Ki", 308),
            ("0.000000000000000001", 1), ("0.000000000000000001E", 1),
            ("0.333333333333333333E", 333_333_333_333_333_333),
            ("1.5Ei", 3 << 59),
        ] as [(String, Int64)]
    )
    func roundsFractionsUpToAWholeByte(_ text: String, _ bytes: Int64) {
        #expect(ByteCount(text)?.bytes == bytes)
    }

    @Test func readsWhatAnInt64HoldsAndNotOneMore() {
        #expect(ByteCount("9223372036854775807")?.bytes == .max)
        #expect(ByteCount("9.223372036854775807E")?.bytes == .max)
        #expect(ByteCount("9223372036854775808") == nil)
        #expect(ByteCount("9223372036854775807.1") == nil)
        #expect(ByteCount("9.2233720368547758071E") == nil)
        #expect(ByteCount("8Ei") == nil && ByteCount("10E") == nil)
        #expect(ByteCount("9223372036854775807EiB") == nil)
        #expect(ByteCount(String(repeating: "9", count: 100_000) + "M") == nil)
        #expect(ByteCount(String(repeating: "0", count: 100_000) + "3M")?.bytes == 3_000_000)
    }

    @Test(arguments: [
        "", " ", ".", "k", "B", "iB", "-1", "-0", "+1", "-2M", "NaN", "nan", "inf", "Infinity", "1e6", "0x10", "1_000",
        "1,5M",
        "1 000", " 2M", "2M ", "2 M", "2\tM", "2M\n", "2M\0", ".5M", "5.M", "1..5M", "1.5.0", "1.-5M", "2b", "2Mb",
        "2kb", "2Mib",
        "2MM", "2Mii", "2i", "2iB", "2MBB", "2MBi", "2BM", "2Z", "2M/s", "2Mbit", "unlimited", "2 000", "٣M", "２M",
        "2\u{212A}",
        "2M\u{301}", "2İ", "2ß", "2\u{1F4BE}", "1.0000000000000000001",
    ])
    func refusesWhatIsNoCount(_ text: String) {
        #expect(ByteCount(text) == nil)
    }

    @Test func survivesAnyText() {
        var random = SplitMix64(seed: 11)
        let alphabet = Array("0123456789..kKmMgGtTpPeEiIbB -+é\u{301}\u{212A}")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0...12, using: &random)).compactMap { _ in alphabet.randomElement(using: &random) }
            )
            if let count = ByteCount(text) { #expect(count.bytes >= 0, "\(text)") }
        }
    }
}
