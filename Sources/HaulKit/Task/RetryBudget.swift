/// Counts the failures of a run, and decides whether there is another attempt.
struct RetryBudget: Sendable, Equatable {
    /// Versions of the file that may come by in one run before we say that it keeps changing.
    static let mostChanges = 3
    /// Times that a refusal behind a redirect is taken for an expired link.
    static let mostRenewals = 2
    /// Links in a row that may be refused, or not be named, before we stop asking the application for another.
    static let mostLinks = 3
    /// Malformed answers in a row without a new byte: an accident on the way does not happen this often.
    static let mostMalformed = 4
    /// Blocks of which the comparison counts as progress: those of a few comparisons that something got in the way of.
    static let mostComparedBlocks = 64

    /// Attempts in a row that brought no new byte.
    private(set) var failures = 0
    /// Those of them in which the server sent what is not proper HTTP.
    private var malformed = 0
    private(set) var changes = 0
    private var renewals = 0
    private var badLinks = 0
    private var hasRefetched = false
    /// Blocks compared since the last new byte.
    private var compared = 0
    /// The farthest byte of this version. Only new ground counts as progress, so that a server without ranges that breaks
    /// off again and again at the same place does not keep us for ever.
    private var furthest: Int64 = 0
    /// The server has sent some answer, if only a refusal: its name and address are right.
    private var hasBeenAnswered = false
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// The user wants it tried again: a new run.
    mutating func renew() {
        forgive()
        changes = 0
        renewals = 0
        badLinks = 0
        hasRefetched = false
    }

    /// It was held for something that had nothing to do with the server: what failed before that is forgiven.
    mutating func forgive() { (failures, malformed) = (0, 0) }

    /// Another run begins at this byte.
    mutating func begin(at written: Int64) { furthest = written }

    mutating func noteProgress(to written: Int64) {
        guard written > furthest else { return }
        furthest = written
        forgive()
        compared = 0
    }

    /// A block was compared and agrees, which is progress too; but only so much of it without a new byte.
    mutating func noteCompared() {
        compared += 1
        if compared <= Self.mostComparedBlocks { failures = 0 }
    }

    mutating func noteAnswer() { hasBeenAnswered = true }
    mutating func noteGoodAnswer() { renewals = 0 }
    mutating func noteGoodLink() { badLinks = 0 }

    /// Counts a failed attempt.
    ///
    /// - Returns: how long to wait before the next; nil when there is to be none.
    mutating func waitAfterFailure(_ policy: RetryPolicy, retryAfter: Duration?, isMalformed: Bool = false) -> Duration?
    {
        failures += 1
        if isMalformed { malformed += 1 }
        let most = hasBeenAnswered ? policy.attempts : min(policy.attempts, policy.attemptsBeforeFirstAnswer)
        guard failures <= most, malformed <= Self.mostMalformed else { return nil }
        return policy.delay(failures: failures, chance: random.next(), retryAfter: retryAfter)
    }

    /// Counts a version of the file that is another than the one before; false when that is one too many.
    mutating func followsChange() -> Bool {
        changes += 1
        // Every byte of the new version is new ground.
        furthest = 0
        return changes <= Self.mostChanges
    }

    /// Counts a link that seems to have expired; false when asking for a fresh one has not helped.
    mutating func renewsLink() -> Bool {
        renewals += 1
        return renewals <= Self.mostRenewals
    }

    /// Counts a link that was refused or could not be named; false when the application is not to be asked again.
    mutating func asksForLink() -> Bool {
        badLinks += 1
        return badLinks <= Self.mostLinks
    }

    /// Whether a file with the wrong digest is fetched once more.
    mutating func refetches() -> Bool {
        defer { hasRefetched = true }
        furthest = 0
        return !hasRefetched
    }
}
