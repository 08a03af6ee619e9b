@testable import HaulCore
@testable import HaulKit

/// Makes inputs from seeds. The same number gives the same input.
struct Mutator {
    private var random: SplitMix64
    static let tokens = [
        "\"", ";", ",", ":", "=", "/", "\\", "..", "%", "%00", "%2F", "%E9", "\u{0}", "\r\n", "\n", " ", "\t", "<", ">",
        "&", "*", "'", "''",
        "-1", "0", "9223372036854775807", "9223372036854775808", "18446744073709551616", "99999999999999999999999",
        "1e308", "NaN", "W/", "\u{202E}",
        "\u{AD}", "\u{FEFF}", "\u{E0041}", "\u{FFFD}", "\u{2028}", "\u{85}", "\u{1B}[31m", "é", "e\u{301}", "ß",
        "\u{1F468}\u{200D}\u{1F469}", "bytes ",
        "utf-8''", "=?utf-8?Q?", "?=",
        "http://", "https://a@b:c@[::1]:0/", "]]>", "<!--", "{", "}", "[", "]", "null",
    ].map { Array($0.utf8) }

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    private mutating func chance(_ count: Int) -> Int { Int(random.next(upperBound: UInt64(max(1, count)))) }

    mutating func input(_ target: FuzzTarget) -> [UInt8] {
        var bytes = seed(target)
        for _ in 0..<(1 + chance(6)) { mutate(&bytes, target) }
        return bytes.count > 4096 ? Array(bytes.prefix(4096)) : bytes
    }

    private mutating func seed(_ target: FuzzTarget) -> [UInt8] {
        let text = target.seeds[chance(target.seeds.count)]
        // Seeds of bytes are texts of Latin-1.
        let latin = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        return latin.count == text.unicodeScalars.count && chance(2) == 0 ? latin : Array(text.utf8)
    }

    private mutating func mutate(_ bytes: inout [UInt8], _ target: FuzzTarget) {
        let place = chance(bytes.count + 1)
        let end = min(bytes.count, place + chance(8))
        switch chance(9) {
        case 0: if place < bytes.count { bytes[place] ^= 1 << UInt8(chance(8)) }
        case 1: if place < bytes.count { bytes[place] = UInt8(chance(256)) }
        case 2: bytes.insert(UInt8(chance(256)), at: place)
        case 3: bytes.removeSubrange(place..<end)
        case 4, 5:
            bytes.replaceSubrange(place..<(chance(2) == 0 ? place : end), with: Self.tokens[chance(Self.tokens.count)])
        case 6: bytes.insert(contentsOf: Array(bytes[place..<end]), at: chance(bytes.count + 1))
        case 7: bytes.replaceSubrange(place..., with: seed(target).suffix(chance(200)))
        default: bytes.insert(contentsOf: repeatElement(UInt8(chance(256)), count: chance(300)), at: place)
        }
    }
}
