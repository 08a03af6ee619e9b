internal import Synchronization

/// An event of a whole downloader, or of one of its groups.
public enum DownloaderEvent: Sendable, Hashable {
    /// A download was added. Comes before everything else about it.
    case added(DownloadSnapshot)
    /// The store has no record of this download any more: it was cancelled or removed. Comes after everything else about it; `group` is
    /// the one that it belonged to.
    case removed(DownloadID, group: String?)
    /// A download is in another state now. A reader that is far behind is told of the oldest changes together.
    case changed(DownloadSnapshot)
    /// More bytes of a download have been received. A slow listener gets only the latest report of each download.
    case progressed(DownloadSnapshot)
    /// A run of a download has ended.
    case ended(DownloadSnapshot, DownloadOutcome)
    /// `count` changes of state are told by their number alone: read lists again. They are of downloads that waited or
    /// were at rest and were changed in one call, or, for a reader that is more than 1,024 events behind, the oldest of those,
    /// ends of runs included. A listener of a group is told how many of them belong to it.
    case changedTogether(to: DownloadSnapshot.State, count: Int)
    /// `count` additions that a reader more than 1,024 events behind has not read as ``added(_:)``. Re-run list queries.
    case addedTogether(count: Int)
    /// `count` removals that a reader more than 1,024 events behind has not read as ``removed(_:group:)``. Re-run list queries.
    case removedTogether(count: Int)
    /// No download waits or runs, and none is held for a reason that ends by itself. Sent once each time that this comes about, after
    /// the last end, and not while a call of ``Downloader/add(_:)-([DownloadRequest])`` is under way. A sequence hears it only of ends that came after it was made; ``Downloader/waitUntilIdle()`` needs no sequence.
    case finished(DownloadSummary)
}

/// Distributes the events of all downloads to any number of listeners. Does not wait for listeners, and costs nothing
/// without them.
final class Broadcast: Sendable {
    private struct State {
        var listeners: [Int: Listener] = [:]
        var next = 0
        var isClosed = false
    }
    private let state = Mutex(State())
    private let hasListeners = Atomic<Bool>(false)

    /// Whether there is a listener.
    var isHeard: Bool { hasListeners.load(ordering: .relaxed) }

    /// The groups that have listeners of their own.
    var groups: Set<String> {
        state.withLock { state in Set(state.listeners.values.compactMap(\.group)) }
    }

    func tell(_ event: DownloaderEvent, group: String?) {
        guard isHeard else { return }
        for listener in state.withLock({ Array($0.listeners.values) })
        where listener.group == nil || listener.group == group {
            listener.tell(event)
        }
    }

    /// Reports to the listeners of exactly this group, or only to the listeners of all downloads.
    func tellAlone(_ event: DownloaderEvent, group: String?) {
        for listener in state.withLock({ Array($0.listeners.values) }) where listener.group == group {
            listener.tell(event)
        }
    }

    func listen(group: String?) -> Listener {
        state.withLock { state in
            let number = state.next
            state.next += 1
            let listener = Listener(group: group) { [weak self] in self?.leave(number) }
            if state.isClosed {
                listener.finish()
                return listener
            }
            state.listeners[number] = listener
            hasListeners.store(true, ordering: .relaxed)
            return listener
        }
    }

    /// Ends the sequence of every present and future listener.
    func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }

    private func leave(_ number: Int) {
        state.withLock { state in
            state.listeners[number] = nil
            hasListeners.store(!state.listeners.isEmpty, ordering: .relaxed)
        }
    }

    /// A listener that reads one event after another: changes in order, then the latest progress of each download.
    final class Listener: Sendable {
        private let reader = EventReader<BroadcastQueue>()
        /// Whether something came to rest since the listener was last told that all have.
        private let hasRestToFinish = Mutex(false)
        let group: String?
        private let onLeave: @Sendable () -> Void

        init(group: String?, onLeave: @escaping @Sendable () -> Void) {
            self.group = group
            self.onLeave = onLeave
        }

        func tell(_ event: DownloaderEvent) {
            reader.append { line in
                let isForUs = hasRestToFinish.withLock { hasRest in
                    switch event {
                    case .ended: hasRest = true
                    case .changed(let snapshot):
                        if snapshot.state == .paused, snapshot.holdReason == nil { hasRest = true }
                    case .changedTogether(let rest, _): if rest != .queued { hasRest = true }
                    case .finished:
                        // The end of what was before this listener is not for it to hear.
                        defer { hasRest = false }
                        return hasRest
                    case .progressed, .added, .removed, .addedTogether, .removedTogether: break
                    }
                    return true
                }
                if isForUs { line.append(event) }
            }
        }

        func finish() { reader.end() }

        /// The next event; `nil` after the last one, and when the task is cancelled. The queue remains for another task.
        func next() async -> DownloaderEvent? { await reader.next(onCancel: reader.wake) }

        func leave() {
            finish()
            onLeave()
        }
    }
}

/// The events of all downloads, or of a group, from the moment at which the sequence was made until the downloader
/// shuts down or is released.
///
/// A slow reader loses progress; one that is more than 1,024 events behind is told of the oldest by their number
/// (``DownloaderEvent/changedTogether(to:count:)``, ``DownloaderEvent/addedTogether(count:)``,
/// ``DownloaderEvent/removedTogether(count:)``), so that it costs no more memory however long it reads nothing.
///
/// Each of several iterations at once gets every event: the first one those since the sequence was made, another one those since it
/// began. An iteration that begins after the first one has ended continues where that one stopped. An iteration also ends when its
/// task is cancelled, and in a task of a `ServiceGroup` (ServiceLifecycle) at the group's graceful shutdown, after what has happened
/// by then.
public struct DownloaderEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = DownloaderEvent
    /// The sequence does not throw.
    public typealias Failure = Never

    private let queues: Queues

    init(_ broadcast: Broadcast, _ filter: DownloadFilter) { queues = Queues(broadcast, filter) }

    /// An iterator that reads from the queue of this sequence, or from one of its own while another iterator does.
    public func makeAsyncIterator() -> Iterator { Iterator(queues.subscribe()) }

    /// Reads the events of a ``DownloaderEvents``. Holds the queue; use it in one task at a time.
    public struct Iterator: AsyncIteratorProtocol {
        private let subscription: Subscription<DownloaderEvent>

        fileprivate init(_ subscription: Subscription<DownloaderEvent>) { self.subscription = subscription }

        /// Waits for the next event.
        ///
        /// - Returns: `nil` after the last event, and when the task is cancelled or shuts down gracefully.
        public mutating func next() async -> DownloaderEvent? { await subscription.next() }

        /// As ``next()``, on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> DownloaderEvent? {
            await subscription.next()
        }
    }
}

/// The queue that a sequence has from its beginning, which one iteration at a time reads from, and those of iterations beside it.
private final class Queues: Sendable {
    private let broadcast: Broadcast
    private let filter: DownloadFilter
    /// Nil while an iteration reads from it.
    private let first: Mutex<Broadcast.Listener?>

    init(_ broadcast: Broadcast, _ filter: DownloadFilter) {
        (self.broadcast, self.filter) = (broadcast, filter)
        first = Mutex(broadcast.listen(group: filter.group))
    }

    deinit { first.withLock { $0?.leave() } }

    func subscribe() -> Subscription<DownloaderEvent> {
        let free = first.withLock { first in
            defer { first = nil }
            return first
        }
        let listener = free ?? broadcast.listen(group: filter.group)
        let isFirst = free != nil
        return Subscription(
            read: { [filter] in
                let isGroupAlone = filter.hasOnlyGroup
                while let event = await listener.next() {
                    if isGroupAlone || filter.includes(event) { return event }
                }
                return nil
            },
            finish: listener.leave,
            leave: { [self] in
                if isFirst { first.withLock { $0 = listener } } else { listener.leave() }
            }
        )
    }
}

extension DownloadFilter {
    /// Whether an event of the filter's group is one of its downloads.
    fileprivate func includes(_ event: DownloaderEvent) -> Bool {
        switch event {
        case .added(let snapshot), .changed(let snapshot), .progressed(let snapshot), .ended(let snapshot, _):
            matches(snapshot)
        case .removed(let id, _): ids?.contains(id) ?? true
        case .changedTogether, .addedTogether, .removedTogether, .finished: true
        }
    }
}
