internal import DequeModule

/// What one listener of a download has not taken yet. However long it takes nothing, there is a bound: of progress only the
/// latest is kept, of changes the newest ``limit``; the outcome, which comes last, is always among them.
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
