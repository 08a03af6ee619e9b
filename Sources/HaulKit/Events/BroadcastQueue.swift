internal import DequeModule

/// The events that one listener of a whole downloader has not taken yet. The queue is bounded, even if the listener
/// never takes an event. It keeps the latest progress of each running download and the newest ``limit`` other events.
/// Older events are only counted, and reported before all others as ``DownloaderEvent/addedTogether(count:)``,
/// ``DownloaderEvent/changedTogether(to:count:)`` and ``DownloaderEvent/removedTogether(count:)``.
struct BroadcastQueue: EventLine {
    static let limit = 1024

    private var waiting: Deque<DownloaderEvent> = []
    private var progress: [DownloadID: DownloadSnapshot] = [:]
    /// Number of older changes, by the state that they led to.
    private var addedUp: [DownloadSnapshot.State: Int] = [:]
    /// Number of additions and removals that are older than the queued events. They are reported together.
    private var additions = 0
    private var removals = 0
    /// The last of the older ``DownloaderEvent/finished(_:)`` events. Earlier ones are dropped.
    private var lastFinished: DownloaderEvent?

    mutating func append(_ event: DownloaderEvent) {
        switch event {
        case .progressed(let snapshot):
            progress[snapshot.id] = snapshot
            return
        // Drops the progress event, because the snapshots of these events include the progress.
        case .changed(let snapshot), .ended(let snapshot, _): progress[snapshot.id] = nil
        case .removed(let id, _): progress[id] = nil
        case .added, .changedTogether, .addedTogether, .removedTogether, .finished: break
        }
        waiting.append(event)
        if waiting.count > Self.limit, let oldest = waiting.popFirst() { addUp(oldest) }
    }

    mutating func popFirst() -> DownloaderEvent? {
        if additions > 0 {
            defer { additions = 0 }
            return .addedTogether(count: additions)
        }
        if !addedUp.isEmpty {
            for state in DownloadSnapshot.State.allCases {
                if let count = addedUp.removeValue(forKey: state) { return .changedTogether(to: state, count: count) }
            }
        }
        if removals > 0 {
            defer { removals = 0 }
            return .removedTogether(count: removals)
        }
        if let finished = lastFinished {
            lastFinished = nil
            return finished
        }
        if let event = waiting.popFirst() { return event }
        guard let (id, snapshot) = progress.first else { return nil }
        progress[id] = nil
        return .progressed(snapshot)
    }

    private mutating func addUp(_ event: DownloaderEvent) {
        switch event {
        // Counts the ``DownloaderEvent/ended(_:_:)`` event of the download instead.
        case .changed(let snapshot) where snapshot.state.hasEnded: break
        case .changed(let snapshot): addedUp[snapshot.state, default: 0] += 1
        case .ended(let snapshot, _): if snapshot.state.hasEnded { addedUp[snapshot.state, default: 0] += 1 }
        case .changedTogether(let state, let count): addedUp[state, default: 0] += count
        case .added: additions += 1
        case .addedTogether(let count): additions += count
        case .removed: removals += 1
        case .removedTogether(let count): removals += count
        case .finished: lastFinished = event
        case .progressed: break
        }
    }
}
