/// Reads the numbers of playlists (RFC 8216 §4.2).
enum PlaylistNumber {
    /// Reads decimal digits.
    ///
    /// - Returns: `nil` for any other text and for numbers beyond `Int64`.
    static func integer(_ text: ArraySlice<UInt8>) -> Int64? {
        guard !text.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in text {
            guard isDigit(byte) else { return nil }
            let (product, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = product.addingReportingOverflow(Int64(byte - 0x30))
            guard !overflows, !overflowsToo else { return nil }
            number = sum
        }
        return number
    }

    /// Reads digits with at most one decimal point. Accepts no sign and no exponent.
    static func decimal(_ text: ArraySlice<UInt8>) -> Double? {
        let point = text.firstIndex(of: UInt8(ascii: ".")) ?? text.endIndex
        let (whole, fraction) = (text[..<point], text[point...].dropFirst())
        guard !whole.isEmpty || !fraction.isEmpty, (1...64).contains(text.count), whole.allSatisfy(isDigit),
            fraction.allSatisfy(isDigit)
        else { return nil }
        let digits = (String(decoding: whole, as: UTF8.self), String(decoding: fraction, as: UTF8.self))
        return Double("0\(digits.0).\(digits.1)0")
    }

    static func signedDecimal(_ text: ArraySlice<UInt8>) -> Double? {
        guard text.first == UInt8(ascii: "-") else { return decimal(text) }
        return decimal(text.dropFirst()).map { -$0 }
    }

    /// Reads `1280x720`.
    static func resolution(_ text: ArraySlice<UInt8>) -> (width: Int, height: Int)? {
        guard let cross = text.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "x") }),
            let width = integer(text[..<cross]), let height = integer(text[cross...].dropFirst()),
            (1...65_535).contains(width), (1...65_535).contains(height)
        else { return nil }
        return (Int(width), Int(height))
    }

    /// Reads `0x` and 1 to 32 hexadecimal digits as a number of 16 octets, the most significant first.
    static func initializationVector(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.starts(with: "0x".utf8) || text.starts(with: "0X".utf8) else { return nil }
        let digits = text.dropFirst(2).compactMap(\.hexadecimalValue)
        guard (1...32).contains(digits.count), digits.count == text.count - 2 else { return nil }
        let padded = [UInt8](repeating: 0, count: 32 - digits.count) + digits
        return (0..<16).map { padded[2 * $0] << 4 | padded[2 * $0 + 1] }
    }

    /// Reads `<n>[@<o>]`, a length and an offset.
    static func range(_ text: ArraySlice<UInt8>) -> (length: Int64, start: Int64?)? {
        guard let sign = text.firstIndex(of: UInt8(ascii: "@")) else { return integer(text).map { ($0, nil) } }
        guard let length = integer(text[..<sign]), let start = integer(text[sign...].dropFirst()) else { return nil }
        return (length, start)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
