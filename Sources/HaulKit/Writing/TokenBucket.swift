/// A token bucket for bytes that have arrived already: what came too soon is owed, and paid for in the order of
/// arrival.
struct TokenBucket: Sendable, Equatable {
    /// Tokens that accrue in a second, one a byte. Nil: no limit, and nothing is counted.
    private(set) var bytesPerSecond: Int64?
    /// Bytes taken in all, modulo 2⁶⁴: the place in the line of the byte taken last.
    private(set) var taken: Int64 = 0
    /// The most time without traffic that is made up for afterwards.
    private let burst: Duration
    /// Tokens left at `since`; below zero, what is owed. It begins at zero, so that the first seconds are no faster.
    private var balance = 0.0
    private var since: Instant

    /// A wait that is longer is said to be this long.
    private static let longestWait = Duration.seconds(86_400)

    /// - Parameter bytesPerSecond: nil, 0 and less: no limit.
    init(bytesPerSecond: Int64?, burst: Duration = .milliseconds(200), at now: Instant) {
        self.bytesPerSecond = Self.rate(bytesPerSecond)
        self.burst = max(burst, .zero)
        since = now
    }

    /// Takes the tokens for bytes that have arrived, whether they are there or not.
    ///
    /// - Returns: the time until the balance is even again, if no more is taken.
    mutating func take(_ bytes: Int64, at now: Instant) -> Duration {
        guard bytesPerSecond != nil else { return .zero }
        settle(at: now)
        balance -= Double(max(bytes, 0))
        taken &+= max(bytes, 0)
        return wait(upTo: taken, at: now)
    }

    /// Takes back what was taken and will not be used after all. Places before it may find themselves paid for earlier.
    mutating func refund(_ bytes: Int64, at now: Instant) {
        guard bytesPerSecond != nil else { return }
        settle(at: now)
        balance = min(balance + Double(max(bytes, 0)), mostTokens)
    }

    /// Changes the rate. What is owed stays owed in bytes, and is paid off at the new rate; no limit forgives it.
    mutating func setRate(_ bytesPerSecond: Int64?, at now: Instant) {
        settle(at: now)
        self.bytesPerSecond = Self.rate(bytesPerSecond)
        balance = self.bytesPerSecond == nil ? 0 : min(balance, mostTokens)
    }

    /// Bytes that are not paid for yet, of those up to `place`, a value that `taken` once had. Later ones pay after it.
    func owed(upTo place: Int64, at now: Instant) -> Int64 {
        Int64(exactly: exactlyOwed(upTo: place, at: now).rounded(.up)) ?? .max
    }

    /// The time until all is paid for up to `place`. A day at most.
    func wait(upTo place: Int64, at now: Instant) -> Duration {
        guard let bytesPerSecond else { return .zero }
        let seconds = exactlyOwed(upTo: place, at: now) / Double(bytesPerSecond)
        guard seconds < Self.longestWait.seconds else { return Self.longestWait }
        return .nanoseconds(Int64((seconds * 1e9).rounded(.up)))
    }

    private func exactlyOwed(upTo place: Int64, at now: Instant) -> Double {
        let owed = -tokens(at: now) - Double(taken &- place)
        // Less than a thousandth of a byte is rounding.
        return owed < 0.001 ? 0 : owed
    }

    private func tokens(at now: Instant) -> Double {
        guard let bytesPerSecond else { return 0 }
        return min(balance + max((now - since).seconds, 0) * Double(bytesPerSecond), mostTokens)
    }

    private mutating func settle(at now: Instant) {
        balance = tokens(at: now)
        // A caller that read the clock a little earlier must not be paid the same time twice.
        since = max(since, now)
    }

    private var mostTokens: Double { Double(bytesPerSecond ?? 0) * burst.seconds }

    private static func rate(_ bytesPerSecond: Int64?) -> Int64? {
        bytesPerSecond.flatMap { $0 > 0 ? $0 : nil }
    }
}
