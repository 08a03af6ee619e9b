/// One connection of a download while bytes arrive.
struct Line: Sendable, Equatable {
    let source: Int
    let opened: Instant
    /// What it asked for, while the answer is outstanding.
    var question: RangeQuestion?
    /// Its answer goes on beyond what it still owes: it has to be cut there.
    var isNarrowed = false
    /// When it had brought everything that it owed.
    var doneSince: Instant?
    /// When its first and latest bytes came.
    var firstByte: Instant?
    var lastByte: Instant
    private var meter = RateMeter(window: .seconds(2))

    init(source: Int, question: RangeQuestion?, at now: Instant) {
        self.source = source
        self.question = question
        opened = now
        lastByte = now
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
    func measuredSpeed(at now: Instant) -> Double? {
        guard isFlowing, now - opened >= Self.shortestMeasure else { return nil }
        return bytesPerSecond(at: now)
    }

    private static let shortestMeasure = Duration.milliseconds(300)
}
