/// Obeys the `Retry-After` of a refused additional connection. Before the time `until`, the host is asked for no more
/// than `allowed` connections. If the host names no delay, the pause doubles with each refusal that follows soon.
/// ``RetryPolicy`` decides how long a whole download waits before its next attempt.
struct RetryAfterPause: Sendable, Equatable {
    private(set) var until: Instant
    private(set) var allowed: Int
    private var length = Self.shortest

    private static let shortest: Duration = .seconds(1)
    private static let longest: Duration = .seconds(60)
    private static let longestRetryAfter: Duration = .seconds(3600)
    /// A refusal within this time after a pause counts as one that follows soon.
    private static let recent: Duration = .seconds(60)

    init(allowed: Int, at now: Instant) {
        until = now
        self.allowed = allowed
    }

    /// - Parameter isNews: whether an earlier pause is over. `false` for the first refusal, and for a refusal during a
    ///   pause.
    mutating func refused(flowing: Int, retryAfter: Duration?, isNews: Bool, at now: Instant) {
        if isNews {
            length = now - until < Self.recent ? min(length * 2, Self.longest) : Self.shortest
            allowed = flowing
        }
        let wait = retryAfter.map { min(max($0, .zero), Self.longestRetryAfter) } ?? length
        until = max(until, now + wait)
        allowed = min(allowed, flowing)
    }
}
