internal import Synchronization

/// An event of a whole downloader, or of one of its groups.
public enum DownloaderEvent: Sendable, Hashable {
    /// A download was added. Comes before all other events of the download.
    case added(DownloadSnapshot)
    /// The store has no record of this download any more, because it was cancelled or removed. Comes after all other
    /// events of the download. `group` is the group that it belonged to.
    case removed(DownloadID, group: String?)
    /// A download has changed its state. A reader that is far behind gets the oldest changes as
    /// ``changedTogether(to:count:)``.
    case changed(DownloadSnapshot)
    /// More bytes of a download have been received. A slow listener gets only the latest report of each download.
    case progressed(DownloadSnapshot)
    /// A run of a download has ended.
    case ended(DownloadSnapshot, DownloadOutcome)
    /// `count` changes of state, reported only by their number: call ``Downloader/list(_:)`` again. Sent if one call
    /// has changed downloads that waited or were at rest, and, with the state ``DownloadSnapshot/State/queued``, if the
    /// hold reason of the waiting downloads has changed. A reader that is more than 1,024 events behind also gets its
    /// oldest changes in this form, including ends of runs. A listener of a group gets the number for its group.
    case changedTogether(to: DownloadSnapshot.State, count: Int)
    /// `count` additions that a reader more than 1,024 events behind has not read as ``added(_:)``. Call
    /// ``Downloader/list(_:)`` again.
    case addedTogether(count: Int)
    /// `count` removals that a reader more than 1,024 events behind has not read as ``removed(_:group:)``. Call
    /// ``Downloader/list(_:)`` again.
    case removedTogether(count: Int)
    /// No download waits or runs, and none is held for a reason that ends by itself. Sent once each time that this
    /// state begins, after the last ``ended(_:_:)``, and not while a call adds downloads or
    /// ``DownloadGroup/expectMore(isolation:_:)`` is under way. A sequence gets the event only if a download has come
    /// to rest since the sequence was made or last got this event. To wait for this state without a sequence, call
    /// ``Downloader/waitUntilIdle()``.
    case finished(DownloadSummary)
}

/// Distributes the events of all downloads to any number of listeners. Does not wait for listeners, and does nothing
/// while there are none.
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

    /// Reports to the listeners of exactly this group; with `nil`, only to the listeners of all downloads.
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
        /// Whether a download has come to rest since the listener last got ``DownloaderEvent/finished(_:)``.
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
                        // Skips the event if no download has come to rest since the last one.
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

        /// Returns the next event; `nil` after the last one, and when the task is cancelled. The queue remains for
        /// another task.
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
/// A slow reader misses reports of progress. A reader that is more than 1,024 events behind gets only the number of the
/// oldest events (``DownloaderEvent/changedTogether(to:count:)``, ``DownloaderEvent/addedTogether(count:)``,
/// ``DownloaderEvent/removedTogether(count:)``). The memory of the sequence is thus bounded, even if nothing is read.
///
/// Each of several simultaneous iterations gets every event. The first iteration gets the events since the sequence was
/// made, and any other iteration gets the events since its own beginning. An iteration that begins after the first one
/// has ended continues where the first one stopped. An iteration also ends when its task is cancelled. In a task of a
/// `ServiceGroup` (ServiceLifecycle) it ends at the group's graceful shutdown, after the events that happened before
/// the shutdown.
public typealias DownloaderEvents = EventSequence<DownloaderEvent>

extension EventSequence<DownloaderEvent> {
    init(_ broadcast: Broadcast, _ filter: DownloadFilter) {
        let queues = Queues(broadcast, filter)
        self.init { queues.subscribe() }
    }
}

/// Makes the subscriptions of a sequence. One iteration at a time reads from the queue that was made with the sequence;
/// further iterations get queues of their own.
private final class Queues: Sendable {
    private let broadcast: Broadcast
    private let filter: DownloadFilter
    /// `nil` while an iteration reads from the queue.
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
    /// Returns whether an event of the filter's group passes the other conditions of the filter.
    fileprivate func includes(_ event: DownloaderEvent) -> Bool {
        switch event {
        case .added(let snapshot), .changed(let snapshot), .progressed(let snapshot), .ended(let snapshot, _):
            matches(snapshot)
        case .removed(let id, _): ids?.contains(id) ?? true
        case .changedTogether, .addedTogether, .removedTogether, .finished: true
        }
    }
}
