internal import DequeModule
internal import Synchronization

/// What listeners of a whole downloader, or of one of its groups, are told.
public enum DownloaderEvent: Sendable, Hashable {
    /// A download is in another state now. Never lost.
    case changed(DownloadSnapshot)
    /// More bytes of a download are here. A slow listener sees the latest of each download only.
    case progressed(DownloadSnapshot)
    /// A run of a download is over.
    case ended(DownloadSnapshot, DownloadOutcome)
    /// So many downloads that were waiting or at rest, and that nobody has a handle of, changed at once: lists are to be read anew.
    case changedTogether(to: DownloadSnapshot.State, count: Int)
    /// Nothing waits or runs any more: told once, after the last end.
    case finished(DownloadSummary)
}

/// Passes what happens to all downloads on to however many listeners there are. Never waits for any of them, and costs nothing
/// while there is none.
final class Broadcast: Sendable {
    private struct State {
        var listeners: [Int: Listener] = [:]
        var next = 0
    }
    private let state = Mutex(State())
    private let hasListeners = Atomic<Bool>(false)

    /// Whether anybody listens.
    var isHeard: Bool { hasListeners.load(ordering: .relaxed) }

    /// The groups that somebody listens to, beside those who listen to all.
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

    /// Tells only those who listen to just this group, or only those who listen to all.
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
            state.listeners[number] = listener
            hasListeners.store(true, ordering: .relaxed)
            return listener
        }
    }

    /// Nothing comes after this.
    func close() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
    }

    private func leave(_ number: Int) {
        state.withLock { state in
            state.listeners[number] = nil
            hasListeners.store(!state.listeners.isEmpty, ordering: .relaxed)
        }
    }

    /// One listener's queue: changes in order, and the latest progress of each download after them.
    final class Listener: Sendable {
        private struct State {
            var waiting: Deque<DownloaderEvent> = []
            var progress: [DownloadID: DownloadSnapshot] = [:]
            var hasEnded = false
            var continuation: CheckedContinuation<DownloaderEvent?, Never>?

            mutating func next() -> DownloaderEvent? {
                if let event = waiting.popFirst() { return event }
                guard let (id, snapshot) = progress.first else { return nil }
                progress[id] = nil
                return .progressed(snapshot)
            }
        }
        private let state = Mutex(State())
        let group: String?
        private let onLeave: @Sendable () -> Void

        init(group: String?, onLeave: @escaping @Sendable () -> Void) {
            self.group = group
            self.onLeave = onLeave
        }

        func tell(_ event: DownloaderEvent) {
            state.withLock { state in
                guard !state.hasEnded else { return }
                switch event {
                case .progressed(let snapshot): state.progress[snapshot.id] = snapshot
                case .changed(let snapshot), .ended(let snapshot, _):
                    // What it says includes the progress.
                    state.progress[snapshot.id] = nil
                    state.waiting.append(event)
                case .changedTogether, .finished: state.waiting.append(event)
                }
                if let continuation = state.continuation {
                    state.continuation = nil
                    continuation.resume(returning: state.next())
                }
            }
        }

        func finish() {
            state.withLock { state in
                state.hasEnded = true
                guard let continuation = state.continuation else { return }
                state.continuation = nil
                continuation.resume(returning: nil)
            }
        }

        /// The next event; nil after the last one, and when the task is cancelled.
        func next() async -> DownloaderEvent? {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let displaced = state.withLock { state -> CheckedContinuation<DownloaderEvent?, Never>? in
                        if let event = state.next() {
                            continuation.resume(returning: event)
                        } else if state.hasEnded || Task.isCancelled {
                            continuation.resume(returning: nil)
                        } else {
                            // Two tasks in one iterator is a mistake of the caller; the first one is let go.
                            defer { state.continuation = continuation }
                            return state.continuation
                        }
                        return nil
                    }
                    displaced?.resume(returning: nil)
                }
            } onCancel: {
                leave()
            }
        }

        func leave() {
            finish()
            onLeave()
        }
    }
}

/// The events of all downloads, or of a group, from the moment at which the sequence was made until the downloader shuts down.
///
/// A slow reader loses progress, never a change. Each iteration of one sequence reads from the same line.
public struct DownloaderEvents: AsyncSequence, Sendable {
    public typealias Element = DownloaderEvent
    public typealias Failure = Never

    private let seat: Seat

    init(_ broadcast: Broadcast, group: String?) { seat = Seat(broadcast.listen(group: group)) }

    public func makeAsyncIterator() -> Iterator { Iterator(seat) }

    public struct Iterator: AsyncIteratorProtocol {
        private let seat: Seat

        fileprivate init(_ seat: Seat) { self.seat = seat }

        /// - Returns: nil after the last event, and when the task is cancelled.
        public mutating func next() async -> DownloaderEvent? { await seat.listener.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> DownloaderEvent? {
            await seat.listener.next()
        }
    }

    /// Leaves when the last copy of sequence and iterators goes.
    fileprivate final class Seat: Sendable {
        let listener: Broadcast.Listener
        init(_ listener: Broadcast.Listener) { self.listener = listener }
        deinit { listener.leave() }
    }
}
