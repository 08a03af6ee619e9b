/// Obeys `Retry-After`: the wait before the next attempt is what the server asked for, up to ``retryAfterCap``, and a random one
/// where it asked for nothing. `HTTP/Headers/RetryAfterHeader.swift` parses the field.
extension RetryPolicy {
    /// The delay before attempt `failures + 1`.
    ///
    /// - Parameters:
    ///   - failures: failed attempts in a row, at least 1.
    ///   - chance: any number; evenly spread numbers give evenly spread delays.
    ///   - retryAfter: the delay that the server requested.
    func delay(failures: Int, chance: UInt64, retryAfter: Duration? = nil) -> Duration {
        if let retryAfter { return min(max(retryAfter, .zero), retryAfterCap) }
        let doublings = min(max(failures, 1) - 1, 30)
        let bound = min(cap.seconds, base.seconds * Double(1 << doublings))
        return .milliseconds(Int64(bound * 1000 * Double(chance >> 11) / Double(UInt64(1) << 53)))
    }
}
