/// A `Content-Range` header field of a 206 or a 416 (RFC 9110 §14.4).
package enum ContentRange: Equatable, Sendable {
    /// `bytes 0-499/1234` is `0..<500` of 1234 bytes; `bytes 0-499/*` is the same range of an unknown length.
    case satisfied(ByteRange, complete: Int64?)
    /// `bytes */1234`: the requested range lies outside of the 1234 bytes.
    case unsatisfied(complete: Int64)

    /// Position behind the last byte of the range; `nil` for ``unsatisfied(complete:)``.
    package var end: Int64? {
        if case .satisfied(let range, _) = self { return range.upper }
        return nil
    }

    /// The complete length; `nil` if the server did not give it.
    package var total: Int64? {
        switch self {
        case .satisfied(_, let complete): complete
        case .unsatisfied(let complete): complete
        }
    }

    /// - Returns: `nil` for a field that does not allow combining bytes: a last byte before the first, a last byte
    ///   outside of the complete length, an unknown unit, several ranges, numbers beyond `Int64`, or text behind the
    ///   value.
    package init?(_ text: String) {
        guard let value = Self.withoutUnit(Array(text.utf8)[...]) else { return nil }
        let parts = value.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let complete = Self.decimal(parts[1])

        if parts[0].elementsEqual(Self.asterisk) {
            guard let complete else { return nil }
            self = .unsatisfied(complete: complete)
            return
        }

        guard complete != nil || parts[1].elementsEqual(Self.asterisk) else { return nil }
        let ends = parts[0].split(separator: UInt8(ascii: "-"), maxSplits: 2, omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.decimal(ends[0]), let last = Self.decimal(ends[1]), first <= last,
            last < complete ?? .max, let range = ByteRange(first, last + 1)
        else { return nil }
        self = .satisfied(range, complete: complete)
    }

    private static let asterisk = "*".utf8

    /// Returns the value behind the unit `bytes` and the space.
    private static func withoutUnit(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        // Some servers leave out the unit, or write "bytes=" as in a request. aria2 tolerates both, and the numbers
        // mean the same.
        if let first = text.first, first == UInt8(ascii: "*") || isDigit(first) { return text }
        let unit = "bytes".utf8
        guard text.prefix(unit.count).map({ $0 | 0x20 }).elementsEqual(unit) else { return nil }
        let rest = text.dropFirst(unit.count)
        guard let separator = rest.first, separator == UInt8(ascii: " ") || separator == UInt8(ascii: "=") else {
            return nil
        }
        return rest.dropFirst()
    }

    private static func decimal(_ digits: ArraySlice<UInt8>) -> Int64? {
        // `Int64.init` alone would accept a sign.
        guard digits.allSatisfy(isDigit) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
