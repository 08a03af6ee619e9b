/// The worker's own deadline for its leases. It is earlier than the deadline of the queue, which takes leases away
/// after ``QueueSettings/leaseSeconds`` without a beat.
struct LeaseClock: Sendable, Equatable {
    /// Share of the lease time after which the worker stops by itself. The rest allows for different clock rates, and
    /// for the destination's work between the decision to publish and the final name.
    private static let share = 0.7

    private(set) var leaseTime = Duration.seconds(60)
    /// Time when the last confirmed call was sent.
    private var confirmedAt = Duration.zero
    private(set) var isInDoubt = false

    /// After this time, the worker publishes nothing until a beat is confirmed.
    var deadline: Duration { confirmedAt + leaseTime * Self.share }

    /// Begins the lease of a registration that was sent at `sentAt`.
    mutating func begin(_ leaseTime: Duration, sentAt: Duration, now: Duration) {
        (self.leaseTime, confirmedAt) = (Self.bounded(leaseTime), sentAt)
        isInDoubt = now >= deadline
    }

    /// Confirms the lease from `sentAt` on, unless a later call has confirmed it already. If the new deadline has
    /// passed, the lease is in doubt.
    mutating func confirm(_ leaseTime: Duration, sentAt: Duration, now: Duration) {
        guard sentAt <= now, sentAt >= confirmedAt else { return }
        begin(leaseTime, sentAt: sentAt, now: now)
    }

    mutating func putInDoubt() { isInDoubt = true }

    /// Returns a random delay until the next beat: 0.2 to 0.25 of the lease time.
    func nextBeatDelay(_ delays: inout RandomDelays) -> Duration { leaseTime * 0.25 * (0.8 + 0.2 * delays.fraction()) }

    private static func bounded(_ leaseTime: Duration) -> Duration {
        let range = QueueSettings.leaseSecondsRange
        return leaseTime.clamped(.seconds(range.lowerBound), .seconds(range.upperBound))
    }
}
