internal import Foundation
package import HaulKit

/// aria2's identifier of a download: a number above zero, written as 16 hexadecimal digits.
package struct GID: Sendable, Hashable, Codable, CustomStringConvertible {
    package let number: UInt64

    /// - Returns: `nil` for zero, which aria2 reserves.
    package init?(number: UInt64) {
        guard number != 0 else { return nil }
        self.number = number
    }

    /// Reads 16 hexadecimal digits of either case.
    package init?(_ text: String) {
        guard text.utf8.count == 16, let number = Self.number(text) else { return nil }
        self.init(number: number)
    }

    package static func random() -> GID { GID(nonZero: UInt64.random(in: 1...UInt64.max)) }

    /// Returns the GID of a download that has none of its own: the second half of its UUID, which is random.
    package init(_ id: DownloadID) {
        let bytes = id.rawValue.uuid
        let half = [bytes.8, bytes.9, bytes.10, bytes.11, bytes.12, bytes.13, bytes.14, bytes.15]
            .reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // This half contains the variant bits of a UUID (RFC 9562 §4.1). It is zero only in a UUID that another program
        // made.
        self.init(nonZero: half == 0 ? 1 : half)
    }

    private init(nonZero number: UInt64) { self.number = number }

    /// Returns the range of GIDs that begin with these digits.
    ///
    /// - Returns: `nil` unless `text` has 1 to 16 hexadecimal digits.
    package static func range(ofPrefix text: String) -> ClosedRange<UInt64>? {
        let count = text.utf8.count
        guard (1...16).contains(count), let number = number(text) else { return nil }
        let rest = UInt64(16 - count) * 4
        // The shift is less than 64 bits, because `text` has at least one digit.
        return number << rest...(number << rest | (rest == 0 ? 0 : (UInt64(1) << rest) - 1))
    }

    private static func number(_ text: String) -> UInt64? {
        // `UInt64(_:radix:)` also accepts a sign.
        guard text.utf8.first != UInt8(ascii: "+"), text.utf8.first != UInt8(ascii: "-") else { return nil }
        return UInt64(text, radix: 16)
    }

    package var description: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// The first six digits, as aria2's console prints them.
    package var abbreviated: String { String(description.prefix(6)) }

    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        guard let gid = GID(try value.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "This is not a GID.")
        }
        self = gid
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(description)
    }
}
