internal import DequeModule

/// Segments of a film that are still to be fetched, in the order of need, and the lanes that wait for a segment. A lane
/// is a task of a ``StreamRun`` that fetches one segment after another.
struct SegmentQueue {
    /// A segment to fetch.
    struct Item {
        let track: Int
        let segment: MediaSegment
        /// Seconds of the film before the segment, for the order of need.
        var start = 0.0
        /// Failed attempts. ``MissingSegments`` decides whether another one follows.
        var attempts = 0
        /// Delay that the server asked for when it refused the last attempt.
        var retryAfter: Duration?
    }

    private var items: Deque<Item> = []
    private var inFlight = 0
    /// Number of live tracks whose playlist is read again and again.
    private var reloads = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Whether nothing is under way that may append a segment.
    var isAtRest: Bool { inFlight == 0 && reloads == 0 }

    mutating func append(_ item: Item) { items.append(item) }

    /// Brings the segments into the order in which the film needs them.
    mutating func sort() {
        items.sort { ($0.segment.discontinuityNumber, $0.start) < ($1.segment.discontinuityNumber, $1.start) }
    }

    /// Returns the next segment, which is in flight from now on; `nil` if none is there.
    mutating func next() -> Item? {
        guard let item = items.popFirst() else { return nil }
        inFlight += 1
        return item
    }

    /// Puts a segment in flight back before all others.
    mutating func putBack(_ item: Item) {
        items.prepend(item)
        ended()
    }

    /// Notes that a segment is no longer in flight.
    mutating func ended() {
        inFlight -= 1
        wake()
    }

    mutating func reloadBegan() { reloads += 1 }

    mutating func reloadEnded() {
        reloads -= 1
        wake()
    }

    // MARK: Lanes

    /// Resumes `continuation` at the next change.
    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) { waiting.append(continuation) }

    /// Resumes the lanes that wait. Each looks again whether a segment is there, or whether the attempt is over.
    mutating func wake() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
