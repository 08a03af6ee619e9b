/// One connection of a download while bytes arrive.
struct ActiveConnection: Sendable, Equatable {
    let source: Int
    /// Whom it was opened to, whatever link the source has since.
    let origin: Origin
    let opened: Instant
    /// What it asked for, while the answer is outstanding.
    private(set) var question: RangeRequest?
    /// When the answer came; nil before.
    private(set) var answered: Instant?
    /// Where the answer ends, or what was asked for does, whatever of it was left to others since.
    var reach: Int64
    /// Its answer is longer than what it still owes: it has to be cut there.
    var isShortened = false
    /// When it had brought everything that it owed.
    var doneSince: Instant?
    /// When its first and latest bytes came.
    var firstByte: Instant?
    var lastByte: Instant
    private var meter = RateMeter(window: .seconds(2))

    init(source: Int, _ origin: Origin, question: RangeRequest?, reach: Int64, at now: Instant) {
        self.reach = reach
        self.source = source
        self.origin = origin
        self.question = question
        opened = now
        lastByte = now
        if question == nil { answered = now }
    }

    /// It has not been asked for yet, and ends here.
    mutating func askForLess(_ end: Int64) {
        question?.end = end
        reach = end
        isShortened = false
    }

    /// The answer is good: from `position` on bytes flow.
    mutating func answer(from position: Int64, at now: Instant) {
        question = nil
        answered = now
        lastByte = now
        meter.record(position, at: now)
    }

    var isFlowing: Bool { question == nil }

    /// Notes where it has got to.
    mutating func record(_ position: Int64, advanced: Bool, at now: Instant) {
        if advanced {
            lastByte = now
            if firstByte == nil { firstByte = now }
        }
        if isFlowing { meter.record(position, at: now) }
    }

    func bytesPerSecond(at now: Instant) -> Double { meter.bytesPerSecond(at: now) }

    /// Its speed, once it has been watched for long enough to have one. A silent one has the speed 0.
    func measuredSpeed(at now: Instant, after time: Duration = .milliseconds(150)) -> Double? {
        guard let answered, now - answered >= time else { return nil }
        return bytesPerSecond(at: now)
    }

    /// What part of the usual speed it must reach, or else another does better; nil while nothing can be held against it: a
    /// connection over a long way takes several round trips, which the time to its answer gives an idea of, to come up to
    /// speed.
    ///
    /// What is hopeless shows sooner than what is slow.
    func leastShare(at now: Instant) -> Double? {
        guard let answered else { return nil }
        let time = now - answered
        guard time >= max(Self.earliestTrial, (answered - opened) * 4) else { return nil }
        return time >= Self.trial ? 0.3 : 0.15
    }

    static let earliestTrial = Duration.milliseconds(60)
    private static let trial = Duration.milliseconds(150)
}
