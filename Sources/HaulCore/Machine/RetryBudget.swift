/// Counts the failures of a run and decides whether another attempt follows.
package struct RetryBudget: Sendable, Equatable {
    /// Maximum number of changes of the file in one run. The next change ends the run.
    static let mostChanges = 3
    /// Maximum number of consecutive refusals behind a redirect that count as an expired link.
    static let mostRenewals = 2
    /// Maximum number of consecutive links that may be refused or not named. After one more, the application is not
    /// asked again.
    package static let mostLinks = 3
    /// Maximum number of malformed answers without a new byte. More of them are no accident on the network path.
    static let mostMalformed = 4
    /// Maximum number of compared blocks without a new byte that count as progress. They suffice for a few interrupted
    /// comparisons.
    static let mostComparedBlocks = 64

    /// Consecutive failed attempts without a new byte.
    package private(set) var failures = 0
    /// Number of failed attempts without a new byte and with an answer that was not valid HTTP.
    private var malformed = 0
    package private(set) var changes = 0
    private var renewals = 0
    private var badLinks = 0
    private var hasRefetched = false
    /// Blocks compared since the last new byte.
    private var compared = 0
    /// Greatest number of received bytes of this version. Only a greater number counts as progress, so that a server
    /// without ranges that always breaks off at the same byte does not keep the run alive.
    private(set) var furthest: Int64 = 0
    /// Whether the server has sent any answer, even a refusal. Its name and address are then right.
    private var hasBeenAnswered = false
    private var random: SplitMix64

    package init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Resets the counts for a new run, which the user requested.
    package mutating func renew() {
        forgive()
        changes = 0
        renewals = 0
        badLinks = 0
        hasRefetched = false
    }

    /// Forgets earlier failures, for example after a hold, because the reason for a hold is not the server.
    package mutating func forgive() { (failures, malformed) = (0, 0) }

    /// Begins an attempt with `written` bytes on the disk.
    package mutating func begin(at written: Int64) { furthest = written }

    package mutating func noteProgress(to written: Int64) {
        guard written > furthest else { return }
        furthest = written
        forgive()
        compared = 0
    }

    /// Counts a block that was compared and agrees. This is progress up to `mostComparedBlocks` blocks without a new
    /// byte.
    package mutating func noteCompared() {
        compared += 1
        if compared <= Self.mostComparedBlocks { forgive() }
    }

    package mutating func noteAnswer() { hasBeenAnswered = true }
    package mutating func noteGoodAnswer() { renewals = 0 }
    package mutating func noteGoodLink() { badLinks = 0 }

    /// Counts a failed attempt.
    ///
    /// - Returns: the wait before the next attempt; `nil` if there is none.
    package mutating func waitAfterFailure(_ policy: RetryPolicy, retryAfter: Duration?, isMalformed: Bool = false)
        -> Duration?
    {
        failures += 1
        if isMalformed { malformed += 1 }
        let most = hasBeenAnswered ? policy.attempts : min(policy.attempts, policy.attemptsBeforeFirstAnswer)
        guard failures <= most, malformed <= Self.mostMalformed else { return nil }
        return policy.delay(failures: failures, chance: random.next(), retryAfter: retryAfter)
    }

    /// Counts a change of the file. Returns `false` if there were too many.
    package mutating func followsChange() -> Bool {
        changes += 1
        // Every byte of the new version counts as progress.
        furthest = 0
        return changes <= Self.mostChanges
    }

    /// Counts a link that seems to have expired. Returns `false` if renewed links have been refused too.
    package mutating func renewsLink() -> Bool {
        renewals += 1
        return renewals <= Self.mostRenewals
    }

    /// Counts a link that was refused or could not be named. Returns `false` if the application is not to be asked
    /// again.
    package mutating func asksForLink() -> Bool {
        badLinks += 1
        return badLinks <= Self.mostLinks
    }

    /// Returns whether a wrong file is fetched again, which happens once in a run.
    package mutating func refetches() -> Bool {
        defer { hasRefetched = true }
        furthest = 0
        return !hasRefetched
    }
}
