/// How long a store is waited for that another program keeps locked. Programs that share it hold it for milliseconds.
struct LockPatience: Sendable, Equatable {
    struct Limits: Sendable, Equatable {
        /// After so long the wait is worth a word.
        var untilTold = Duration.seconds(3)
        /// After so long it is given up: what waits fails.
        var longest = Duration.seconds(30)
        /// The same for whatever comes soon after a wait that was given up: many steps that each wait their full time would
        /// together wait without end.
        var afterGivingUp = Duration.seconds(1)
        /// The same while the downloader closes.
        var whileClosing = Duration.seconds(2)
    }

    enum Decision: Sendable, Equatable { case waits, tellsAndWaits, givesUp }

    private let limits: Limits
    private var began: Instant?
    private var hasTold = false
    private var gaveUpAt: Instant?
    private var closesAt: Instant?

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// - Parameter isFirstTry: a wait begins.
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

    /// The downloader closes: nothing is waited for any more but for a moment.
    mutating func close(at now: Instant) { closesAt = closesAt ?? now }

    private func longest(at now: Instant) -> Duration {
        var longest = limits.longest
        if let gaveUpAt, (began ?? now) - gaveUpAt < limits.longest { longest = limits.afterGivingUp }
        guard let closesAt else { return longest }
        // One moment for all that is still to be written.
        return min(longest, max(.zero, limits.whileClosing - ((began ?? now) - closesAt)))
    }
}
