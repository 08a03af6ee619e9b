/// Values that a transfer owns. Each changes only by its own methods.
extension Transfer {
    /// The bytes that the first connection repeats. Until they have been compared with those on disk, it is unknown
    /// whether the connection brings the version on disk, and its bytes must not be joined with that version.
    struct OverlapCheck: Sendable, Equatable {
        /// The first connection while its repeated bytes are being compared; then `nil`.
        private(set) var connection: ConnectionID?
        /// The resource to use if the compared bytes are equal; `nil` if it does not change.
        private var expected: Resource?
        /// The resource that a comparison has confirmed, until the machine takes it.
        private var confirmed: Resource?

        var isPending: Bool { connection != nil }

        /// - Parameter connection: `nil` if nothing is to be compared.
        mutating func waitFor(_ connection: ConnectionID?) {
            (self.connection, expected, confirmed) = (connection, nil, nil)
        }

        mutating func expect(_ resource: Resource?) { expected = resource }

        /// Ends the comparison because the bytes are equal.
        ///
        /// - Returns: the resource as it is known now; `nil` if it has not changed.
        mutating func confirm() -> Resource? {
            connection = nil
            guard let known = expected else { return nil }
            (expected, confirmed) = (nil, known)
            return known
        }

        mutating func takeConfirmed() -> Resource? {
            defer { confirmed = nil }
            return confirmed
        }
    }

    /// Trust in the first source, whose link the application may replace.
    struct HomeTrust: Sendable, Equatable {
        /// Whether the link of the first source leads to another place than the one that the known version came from.
        /// The source is then judged like a mirror.
        private(set) var isForeign = false
        /// Whether the first source gets no additional connections.
        private(set) var isBarred = false

        mutating func bar() { isBarred = true }
        mutating func unbar() { isBarred = false }

        /// Notes a new link. The first source may get additional connections again.
        mutating func noteLink(isForeign: Bool) { (self.isForeign, isBarred) = (isForeign, false) }

        /// Notes that the link leads to the known version.
        mutating func noteKnownVersion() { isForeign = false }
    }

    /// Failures of additional connections since bytes last arrived, and the pause that they cause.
    struct Stumbles: Sendable, Equatable {
        private var count = 0
        private var quietUntil = Instant.start

        /// Whether no connection may be opened yet.
        func areQuiet(at now: Instant) -> Bool { now < quietUntil }

        mutating func add(at now: Instant) {
            count += 1
            let backoff = Backoff(base: .milliseconds(200), cap: .milliseconds(12_800))
            quietUntil = max(quietUntil, now + backoff.bound(failures: count))
        }

        /// Forgets the failures because bytes have arrived. A pause that has begun stays.
        mutating func noteProgress() { count = 0 }

        mutating func endPause(at now: Instant) { quietUntil = now }
    }

    /// Free connection slots of the hosts.
    package struct Slots: Sendable, Equatable {
        /// Number of free slots of each host; `nil` while they are not counted.
        private var free: [Origin: Int]?
        /// Whether another connection would be opened if a host had a free slot.
        package private(set) var isWanted = false
        /// Whether a connection was given up for another download or found no slot. No connection is opened before the
        /// next tick then.
        private(set) var hasGivenUp = false

        /// Number of additional connections of all downloads; `nil` while they are not counted.
        private(set) var inUse: Int?

        mutating func replace(_ free: [Origin: Int], inUse: Int? = nil) { (self.free, self.inUse) = (free, inUse) }

        /// Returns whether a host has a free slot. A host that became known a moment ago counts as having one.
        func hasFree(at host: Origin) -> Bool { free?[host].map { $0 > 0 } ?? true }

        mutating func take(at host: Origin) { free?[host, default: 1] -= 1 }

        mutating func setWanted(_ isWanted: Bool) { self.isWanted = isWanted }

        /// Prevents new connections until the next tick.
        mutating func giveUp() { hasGivenUp = true }

        mutating func tick() { hasGivenUp = false }
    }

    /// Times from a request to its answer.
    struct AnswerTimes: Sendable, Equatable {
        /// Estimated time from a request to its first byte, by the latest answers.
        private(set) var estimate = SegmentPlan.usualRequestTime
        /// The longest time to an answer, that of the first connection included.
        private(set) var slowest: Duration = .zero
        /// When the first connection was last requested; `nil` after its answer.
        private var firstAsked: Instant?

        mutating func noteFirstRequest(at now: Instant) { firstAsked = now }

        mutating func noteFirstAnswer(at now: Instant) {
            guard let asked = firstAsked else { return }
            firstAsked = nil
            slowest = max(slowest, now - asked)
        }

        /// Notes the time between the request and the answer of an additional connection. The first bytes follow a
        /// little later, so the estimate uses twice this time.
        mutating func noteAnswer(after time: Duration) {
            slowest = max(slowest, time)
            estimate = min(max((estimate + time * 2) / 2, .milliseconds(5)), .seconds(1))
        }
    }
}
