/// A half-open range of byte positions in a representation, never negative and never inverted.
///
/// HTTP writes closed ranges (`bytes=0-499`), Haul uses half-open ones (`0..<500`). ``ContentRange`` converts the
/// ranges of answers, ``RangeRequest`` the ranges of requests.
package struct ByteRange: Sendable, Hashable, Codable {
    package let lower: Int64
    package let upper: Int64

    /// - Returns: `nil` if `lower` is negative or `upper` is less than `lower`.
    package init?(_ lower: Int64, _ upper: Int64) {
        guard lower >= 0, upper >= lower else { return nil }
        self.lower = lower
        self.upper = upper
    }

    package var count: Int64 { upper - lower }
    package var isEmpty: Bool { upper == lower }
}

extension ByteRange: CustomStringConvertible {
    package var description: String { "\(lower)..<\(upper)" }
}
