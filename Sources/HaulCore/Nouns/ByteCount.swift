/// A number of bytes as people write it: `800000`, `500k`, `1.5M`, `2MiB`.
///
/// `k`, `M`, `G`, `T`, `P` and `E` are powers of 1000, as in all output of Haul; followed by an `i` (`Ki`, `Mi`) they
/// are powers of 1024. A `B` may follow. Case is ignored except for that `B`: a lower-case `b` might mean bits, and is
/// refused. A fraction of a byte is rounded up, so that a number above zero does not become zero.
package struct ByteCount: Sendable, Hashable {
    /// Never negative if the count was parsed from a text.
    package let bytes: Int64

    /// Makes a byte count of any number, also a negative one.
    package init(bytes: Int64) { self.bytes = bytes }

    /// Parses a number of bytes.
    ///
    /// - Returns: `nil` when the text does not have the form that ``ByteCount`` describes, has more than 18 digits
    ///   after the point, or stands for more bytes than `Int64` holds. The form has no sign, space or exponent.
    package init?(_ text: String) {
        let text = Array(text.utf8)
        let number = text.prefix { $0 == UInt8(ascii: ".") || Self.isDigit($0) }
        let parts = number.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let scale = Self.scale(text[number.endIndex...]), let whole = Self.number(parts[0]) else { return nil }
        var bytes = Int128(whole) * scale
        if parts.count == 2 {
            guard parts[1].count <= 18, let fraction = Self.number(parts[1]) else { return nil }
            let one = Self.power(10, parts[1].count)
            bytes += (Int128(fraction) * scale + one - 1) / one
        }
        guard let bytes = Int64(exactly: bytes) else { return nil }
        self.bytes = bytes
    }

    /// Returns the factor of a unit; `nil` for an unknown unit. The factor is at most 1024⁶, so that its product with
    /// any `Int64` fits into an `Int128`.
    private static func scale(_ unit: ArraySlice<UInt8>) -> Int128? {
        var unit = unit
        if unit.last == UInt8(ascii: "B") { unit.removeLast() }
        guard let letter = unit.popFirst() else { return 1 }
        guard let exponent = Array("kmgtpe".utf8).firstIndex(of: letter.asciiLowercased) else { return nil }
        if unit.isEmpty { return power(1000, exponent + 1) }
        return unit.map(\.asciiLowercased) == [UInt8(ascii: "i")] ? power(1024, exponent + 1) : nil
    }

    private static func power(_ base: Int128, _ exponent: Int) -> Int128 {
        (0..<exponent).reduce(1) { power, _ in power * base }
    }

    /// - Returns: `nil` for a text without a digit or with a point, and for a number beyond `Int64`.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? { Int64(String(decoding: digits, as: UTF8.self)) }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
