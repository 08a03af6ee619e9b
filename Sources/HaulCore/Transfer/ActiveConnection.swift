/// An open connection of a transfer, with its source, its reach and its speed.
package struct ActiveConnection: Sendable, Equatable {
    package let source: Int
    /// Origin that the connection was opened to. The source may have another link by now.
    package let origin: Origin
    package let opened: Instant
    /// The request, until it is answered; then `nil`.
    package private(set) var question: RangeRequest?
    /// Time of the answer; `nil` before.
    package private(set) var answered: Instant?
    /// End offset of the answer or, before the answer, of the requested range. The offset stays when the segment of the
    /// connection is shortened after the request was sent.
    package var reach: Int64
    /// Whether the answer may be longer than what the connection still owes. If so, the connection is closed as soon as
    /// it owes nothing.
    var isShortened = false
    /// Time since which the connection owes nothing; `nil` while it owes bytes.
    var doneSince: Instant?
    /// Arrival times of the first and the latest bytes. Before any bytes, `lastByte` is the time of opening or of the
    /// answer.
    package var firstByte: Instant?
    var lastByte: Instant
    private var meter = RateMeter(window: Self.meterWindow)

    package init(source: Int, _ origin: Origin, question: RangeRequest?, reach: Int64, at now: Instant) {
        self.reach = reach
        self.source = source
        self.origin = origin
        self.question = question
        opened = now
        lastByte = now
        if question == nil { answered = now }
    }

    /// Shortens the request to `end`. The request must not have been sent yet.
    mutating func askForLess(_ end: Int64) {
        question?.end = end
        reach = end
        isShortened = false
    }

    /// Notes that the answer was accepted and that bytes flow from `position` on.
    package mutating func answer(from position: Int64, at now: Instant) {
        question = nil
        answered = now
        lastByte = now
        meter.record(position, at: now)
    }

    var isFlowing: Bool { question == nil }

    /// Records the offset that the connection has reached.
    package mutating func record(_ position: Int64, advanced: Bool, at now: Instant) {
        if advanced {
            lastByte = now
            if firstByte == nil { firstByte = now }
        }
        if isFlowing { meter.record(position, at: now) }
    }

    package func bytesPerSecond(at now: Instant) -> Double { meter.bytesPerSecond(at: now) }

    /// Returns the speed in bytes per second, or `nil` until `time` has passed since the answer. A silent connection
    /// has the speed 0.
    func measuredSpeed(at now: Instant, after time: Duration = .milliseconds(150)) -> Double? {
        guard let answered, now - answered >= time else { return nil }
        return bytesPerSecond(at: now)
    }

    /// Returns the least share of the usual speed at which the connection is worth keeping; `nil` if it is too early to
    /// tell.
    ///
    /// A connection over a long path needs several round trips to reach its speed. The time to its answer estimates one
    /// round trip. The share is `nil` until four round trips, and at least 60 ms, have passed since the answer. In the
    /// first 150 ms the share is smaller, because only a very slow connection can be recognized that early.
    ///
    /// Servers send in pieces, so that a connection without a byte may only be waiting for its next piece. The share is
    /// `nil` until the usual speed would have brought several pieces. At low speeds that takes longer than the window of
    /// the meter; the share then stays small.
    func leastShare(ofUsual usual: Double, at now: Instant) -> Double? {
        guard let answered else { return nil }
        let time = now - answered
        guard time >= max(Self.earliestTrial, (answered - opened) * 4) else { return nil }
        guard min(time, Self.meterWindow).seconds * usual >= Self.severalPieces else {
            return time >= Self.trialAtLowSpeed ? 0.05 : nil
        }
        return time >= Self.trial ? 0.3 : 0.15
    }

    static let earliestTrial = Duration.milliseconds(60)
    private static let trial = Duration.milliseconds(150)
    private static let trialAtLowSpeed = Duration.seconds(5)
    private static let meterWindow = Duration.seconds(2)
    private static let severalPieces = Double(256 << 10)
}
