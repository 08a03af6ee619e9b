/// A token bucket for bytes that have already arrived. Bytes that arrive too soon are owed: the tokens that accrue
/// later are used for them in the order of arrival.
package struct TokenBucket: Sendable, Equatable {
    /// Tokens that accrue in a second, one for each byte; `nil` for no limit. Bytes are not counted then.
    package private(set) var bytesPerSecond: Int64?
    /// Number of all bytes for which tokens were taken, modulo 2⁶⁴. The number is also the place of the last byte in
    /// the order of arrival.
    package private(set) var taken: Int64 = 0
    /// Longest time without traffic for which tokens accumulate.
    private let burst: Duration
    /// Tokens left at `since`; negative while bytes are owed. Begins at 0, so that the first seconds are no faster.
    private var balance = 0.0
    private var since: Instant

    /// Longest wait that is returned.
    private static let longestWait = Duration.seconds(86_400)

    /// - Parameter bytesPerSecond: the limit; `nil`, 0 or a negative number for no limit.
    package init(bytesPerSecond: Int64?, burst: Duration = .milliseconds(200), at now: Instant) {
        self.bytesPerSecond = Self.rate(bytesPerSecond)
        self.burst = max(burst, .zero)
        since = now
    }

    /// Takes the tokens for arrived bytes, even if there are too few.
    ///
    /// - Returns: the time until no byte is owed any more, if no further tokens are taken.
    package mutating func take(_ bytes: Int64, at now: Instant) -> Duration {
        guard bytesPerSecond != nil else { return .zero }
        settle(at: now)
        balance -= Double(max(bytes, 0))
        taken &+= max(bytes, 0)
        return wait(upTo: taken, at: now)
    }

    /// Refunds tokens that were taken and will not be used. The refunded tokens shorten the wait for all owed bytes.
    package mutating func refund(_ bytes: Int64, at now: Instant) {
        guard bytesPerSecond != nil else { return }
        settle(at: now)
        balance = min(balance + Double(max(bytes, 0)), mostTokens)
    }

    /// Changes the rate. Owed bytes stay owed, and wait for tokens at the new rate. Without a limit, no byte is owed.
    package mutating func setRate(_ bytesPerSecond: Int64?, at now: Instant) {
        settle(at: now)
        self.bytesPerSecond = Self.rate(bytesPerSecond)
        balance = self.bytesPerSecond == nil ? 0 : min(balance, mostTokens)
    }

    /// Returns the number of owed bytes up to `place`, which is an earlier value of `taken`. Bytes behind `place` do
    /// not count.
    package func owed(upTo place: Int64, at now: Instant) -> Int64 {
        Int64(exactly: exactlyOwed(upTo: place, at: now).rounded(.up)) ?? .max
    }

    /// Returns the time until no byte up to `place` is owed any more; at most a day.
    package func wait(upTo place: Int64, at now: Instant) -> Duration {
        guard let bytesPerSecond else { return .zero }
        let seconds = exactlyOwed(upTo: place, at: now) / Double(bytesPerSecond)
        guard seconds < Self.longestWait.seconds else { return Self.longestWait }
        return .nanoseconds(Int64((seconds * 1e9).rounded(.up)))
    }

    private func exactlyOwed(upTo place: Int64, at now: Instant) -> Double {
        let owed = -tokens(at: now) - Double(taken &- place)
        // Less than a thousandth of a byte is a rounding error.
        return owed < 0.001 ? 0 : owed
    }

    private func tokens(at now: Instant) -> Double {
        guard let bytesPerSecond else { return 0 }
        return min(balance + max((now - since).seconds, 0) * Double(bytesPerSecond), mostTokens)
    }

    private mutating func settle(at now: Instant) {
        balance = tokens(at: now)
        // `now` may be earlier than `since`. The time between the two must not earn tokens twice.
        since = max(since, now)
    }

    private var mostTokens: Double { Double(bytesPerSecond ?? 0) * burst.seconds }

    private static func rate(_ bytesPerSecond: Int64?) -> Int64? {
        bytesPerSecond.flatMap { $0 > 0 ? $0 : nil }
    }
}
