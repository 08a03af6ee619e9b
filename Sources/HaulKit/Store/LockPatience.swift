/// Decides how long to wait for a store that another program keeps locked. Programs that share a store lock it for
/// milliseconds.
struct LockPatience: Sendable, Equatable {
    struct Limits: Sendable, Equatable {
        /// Time after which the wait is reported.
        var untilTold = Duration.seconds(3)
        /// Time after which the wait is given up and the waiting step fails.
        var longest = Duration.seconds(30)
        /// Replaces `longest` for a wait that begins soon after one was given up. Otherwise many steps that each wait
        /// the full time would together wait without end.
        var afterGivingUp = Duration.seconds(1)
        /// Replaces `longest` while the downloader closes, for all waits together.
        var whileClosing = Duration.seconds(2)
    }

    enum Decision: Sendable, Equatable { case waits, tellsAndWaits, givesUp }

    private let limits: Limits
    private var began: Instant?
    private var hasTold = false
    private var gaveUpAt: Instant?
    private var closesAt: Instant?

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// - Parameter isFirstTry: whether a new wait begins.
    mutating func decision(isFirstTry: Bool, at now: Instant) -> Decision {
        if isFirstTry || began == nil {
            began = now
            hasTold = false
        }
        let waited = now - (began ?? now)
        if waited >= longest(at: now) {
            gaveUpAt = now
            began = nil
            return .givesUp
        }
        guard !hasTold, waited >= limits.untilTold else { return .waits }
        hasTold = true
        return .tellsAndWaits
    }

    /// Limits further waits to `Limits.whileClosing`, because the downloader closes.
    mutating func close(at now: Instant) { closesAt = closesAt ?? now }

    private func longest(at now: Instant) -> Duration {
        var longest = limits.longest
        if let gaveUpAt, (began ?? now) - gaveUpAt < limits.longest { longest = limits.afterGivingUp }
        guard let closesAt else { return longest }
        // All remaining writes share one `whileClosing`.
        return min(longest, max(.zero, limits.whileClosing - ((began ?? now) - closesAt)))
    }
}
