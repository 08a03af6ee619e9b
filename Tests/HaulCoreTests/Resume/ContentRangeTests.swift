import Testing

@testable import HaulCore

struct ContentRangeTests {
    @Test(arguments: [
        ("bytes 0-499/1234", 0, 500, 1234), ("bytes 500-1233/1234", 500, 1234, 1234), ("bytes 0-0/1", 0, 1, 1),
        ("BYTES 0-499/1234", 0, 500, 1234), ("bYtEs 7-7/8", 7, 8, 8), ("bytes 007-08/0009", 7, 9, 9),
        ("bytes 0-9223372036854775806/9223372036854775807", 0, Int64.max, Int64.max),
    ])
    func readsASatisfiedRangeAsHalfOpen(_ text: String, _ lower: Int64, _ upper: Int64, _ complete: Int64) throws {
        let range = try #require(ByteRange(lower, upper))
        #expect(ContentRange(text) == .satisfied(range, complete: complete))
    }

    @Test func readsAnUnknownCompleteLength() throws {
        let range = try #require(ByteRange(42, 1234))
        #expect(ContentRange("bytes 42-1233/*") == .satisfied(range, complete: nil))
    }

    @Test(arguments: [("bytes */1234", Int64(1234)), ("bytes */0", 0), ("bytes=*/7", 7), ("*/7", 7)])
    func readsAnUnsatisfiedRange(_ text: String, _ complete: Int64) {
        #expect(ContentRange(text) == .unsatisfied(complete: complete))
    }

    @Test(arguments: ["bytes=0-499/1234", "0-499/1234"])
    func toleratesAMissingUnitAndAnEqualsSign(_ text: String) throws {
        let range = try #require(ByteRange(0, 500))
        #expect(ContentRange(text) == .satisfied(range, complete: 1234))
    }

    @Test(arguments: ["bytes 500-499/1234", "bytes 1-0/*", "500-499/1234"])
    func refusesARangeWhoseLastByteLiesBeforeItsFirst(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test(arguments: ["bytes 0-499/499", "bytes 0-0/0", "bytes 10-20/5"])
    func refusesACompleteLengthTheLastByteDoesNotFitIn(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test(arguments: [
        "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*", "bytes 99999999999999999999-0/1",
        "bytes 0-1/9223372036854775808", "bytes */9223372036854775808",
        "bytes 9223372036854775807-9223372036854775807/*",
    ])
    func refusesNumbersThatDoNotFit(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test(arguments: [
        "items 0-499/1234", "byte 0-4/5", "bytess 0-4/5", "bytes: 0-4/5", "none", "kB 0-4/5", "BYTES\t0-4/5",
    ])
    func refusesOtherUnits(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes=", "bytes */*", "bytes */", "bytes /5", "bytes -/5", "bytes 0-/5", "bytes -4/5",
        "bytes 0-4", "bytes 0-4/", "bytes +0-4/5", "bytes 0-+4/5", "bytes -0-4/5", "bytes 0--4/5", "bytes 0-4/-5",
        "bytes 0-4/+5", "bytes  0-4/5", "bytes 0 -4/5", "bytes 0-4 /5", "bytes 0-4/5 ", " bytes 0-4/5", "bytes 0-4/5/6",
        "bytes 0-4/5;x", "bytes 0-4,6-7/9", "bytes 0-4/5, bytes 6-7/9", "bytes 0-4/5\0", "bytes 0x0-4/5", "bytes ٠-٤/٥",
        "bytes **/5", "bytes *-4/5", "bytes=bytes 0-4/5",
    ])
    func refusesWhatTheGrammarDoesNotKnow(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test func neverTraps() {
        let alphabet = [
            "bytes", "bytes ", "bytes=", "0", "9", "12", "9223372036854775807", "9223372036854775806",
            "18446744073709551616", "bytes 0-", "bytes 0-9", "9-12", "/12", "/*", "-", "-", "/", "/", "*", "+", " ",
            ",", "\0", "é",
            "/\u{301}",
        ]
        var accepted = 0
        var read = 0
        for text in HostileStrings(of: alphabet, count: 8000, upTo: 5, seed: 3) {
            guard case .satisfied(let range, let complete) = ContentRange(text) else { continue }
            read += 1
            accepted += 1
            #expect(!range.isEmpty)
            #expect(range.upper <= complete ?? .max)
        }
        #expect(read > 5)
        #expect(accepted > 10)
    }
}
