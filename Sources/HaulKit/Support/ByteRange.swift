/// A half-open range of byte positions in a representation, never negative and never inverted.
///
/// HTTP writes ranges closed (`bytes=0-499`); Haul thinks in half-open ones (`0..<500`), and `HTTP/` translates.
struct ByteRange: Sendable, Hashable, Codable {
    let lower: Int64
    let upper: Int64

    /// - Returns: nil when `lower` is negative or `upper` lies before it.
    init?(_ lower: Int64, _ upper: Int64) {
        guard lower >= 0, upper >= lower else { return nil }
        self.lower = lower
        self.upper = upper
    }

    var count: Int64 { upper - lower }
    var isEmpty: Bool { upper == lower }
}

extension ByteRange: CustomStringConvertible {
    var description: String { "\(lower)..<\(upper)" }
}
