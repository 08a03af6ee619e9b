/// Chooses the wait before the next attempt. It is the server's `Retry-After`, up to ``retryAfterCap``, or a random
/// wait if the server sent none. `Headers/RetryAfterHeader.swift` parses the field.
extension RetryPolicy {
    /// Returns the delay before attempt `failures + 1`.
    ///
    /// - Parameters:
    ///   - failures: consecutive failed attempts, at least 1.
    ///   - chance: any number; evenly spread numbers give evenly spread delays.
    ///   - retryAfter: the delay that the server requested.
    package func delay(failures: Int, chance: UInt64, retryAfter: Duration? = nil) -> Duration {
        if let retryAfter { return min(max(retryAfter, .zero), retryAfterCap) }
        let doublings = min(max(failures, 1) - 1, 30)
        // An application may set any bounds. The milliseconds have to stay within `Int64`.
        let bound = min(cap.seconds, base.seconds * Double(1 << doublings), 1e9)
        return .milliseconds(Int64(bound * 1000 * Double(chance >> 11) / Double(UInt64(1) << 53)))
    }
}
