internal import DequeModule

/// The events that one listener of a download has not taken yet. The queue is bounded, even if the listener never takes
/// an event. Consecutive progress events are merged into the latest, and only the newest ``limit`` events are kept. The
/// outcome is always among them, because it comes last.
struct EventQueue: EventLine {
    static let limit = 256

    private var waiting: Deque<DownloadEvent> = []

    mutating func append(_ event: DownloadEvent) {
        if case .progressed? = waiting.last {
            switch event {
            case .progressed: waiting.removeLast()
            case .changed, .ended: break
            }
        }
        waiting.append(event)
        if waiting.count > Self.limit { waiting.removeFirst() }
    }

    mutating func popFirst() -> DownloadEvent? { waiting.popFirst() }
}
