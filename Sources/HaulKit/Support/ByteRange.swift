/// A half-open range of byte positions in a representation, never negative and never inverted.
///
/// HTTP writes closed ranges (`bytes=0-499`), Haul uses half-open ones (`0..<500`). ``ContentRange`` converts those of
/// answers, ``HTTPExchange`` those of requests.
struct ByteRange: Sendable, Hashable, Codable {
    let lower: Int64
    let upper: Int64

    /// - Returns: `nil` if `lower` is negative or `upper` is less than `lower`.
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
