/// When a failed attempt is worth another, and how long to wait before it.
public struct RetryPolicy: Sendable, Hashable, Codable {
    /// Attempts in a row that may fail without a byte of progress before the download does. Progress starts the count anew.
    public var attempts: Int = 20
    /// The same, while the server has not answered once: a wrong host name should not take minutes to show.
    public var attemptsBeforeFirstAnswer: Int = 2
    /// Upper bound of the first wait; each further one doubles. The wait itself is drawn evenly between 0 and the bound
    /// ("full jitter"), so that many clients do not come back at the same moment.
    public var base: Duration = .milliseconds(500)
    /// Upper bound of any wait that we choose.
    public var cap: Duration = .seconds(60)
    /// Upper bound of a wait that the server asks for with `Retry-After`.
    public var retryAfterCap: Duration = .seconds(300)

    public init() {}

    /// The wait before attempt `failures + 1`.
    ///
    /// - Parameters:
    ///   - failures: failed attempts in a row, at least 1.
    ///   - chance: any number; evenly spread ones give evenly spread waits.
    ///   - retryAfter: what the server asked for.
    func delay(failures: Int, chance: UInt64, retryAfter: Duration? = nil) -> Duration {
        if let retryAfter { return min(max(retryAfter, .zero), retryAfterCap) }
        let doublings = min(max(failures, 1) - 1, 30)
        let bound = min(cap.seconds, base.seconds * Double(1 << doublings))
        return .milliseconds(Int64(bound * 1000 * Double(chance >> 11) / Double(UInt64(1) << 53)))
    }
}
