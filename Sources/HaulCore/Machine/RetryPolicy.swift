/// Number of attempts and the delays between them.
public struct RetryPolicy: Sendable, Hashable, Codable {
    /// Number of consecutive attempts that may fail without a new byte. The next failure ends the run, and a new byte
    /// resets the count. Default: 20.
    public var attempts: Int = 20
    /// Replaces ``attempts``, if lower, until the server has responded for the first time, so that a wrong host name
    /// fails soon. Default: 2.
    public var attemptsBeforeFirstAnswer: Int = 2
    /// Upper bound of the first delay. The bound doubles with each further failure. Each delay is random between 0 and
    /// its bound ("full jitter"), so that many clients do not retry at the same moment. Default: 500 ms.
    public var base: Duration = .milliseconds(500)
    /// Upper bound of every delay that Haul chooses. Default: 60 s.
    public var cap: Duration = .seconds(60)
    /// Upper bound of a delay that the server requests with `Retry-After` (RFC 9110 §10.2.3). Default: 300 s.
    public var retryAfterCap: Duration = .seconds(300)

    /// The default policy.
    package init() {}
}

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
        let bound = Backoff(base: base, cap: cap).bound(failures: failures)
        return .milliseconds(Int64(bound.seconds * 1000 * Double(chance >> 11) / Double(UInt64(1) << 53)))
    }
}
