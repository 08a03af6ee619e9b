internal import DequeModule
internal import Synchronization

/// Passes what happens to one download on to however many listeners there are. Never waits for any of them.
final class EventHub: Sendable {
    private struct State {
        var snapshot: DownloadSnapshot
        var outcome: DownloadOutcome?
        var listeners: [Int: Listener] = [:]
        var next = 0
    }
    private let state: Mutex<State>
    private let onGone: @Sendable () -> Void

    /// - Parameter onGone: called when the last holder lets go of it.
    init(_ snapshot: DownloadSnapshot, onGone: @escaping @Sendable () -> Void = {}) {
        state = Mutex(State(snapshot: snapshot))
        self.onGone = onGone
    }

    deinit { onGone() }

    var snapshot: DownloadSnapshot { state.withLock { $0.snapshot } }
    var hasEnded: Bool { state.withLock { $0.outcome != nil } }

    /// A change of state; a state that ends the run carries its outcome. A state after an outcome begins a new run.
    func changed(_ snapshot: DownloadSnapshot, outcome: DownloadOutcome? = nil) {
        let listeners = state.withLock { state in
            state.snapshot = snapshot
            state.outcome = outcome
            defer { if outcome != nil { state.listeners = [:] } }
            return state.listeners.values.map(\.self)
        }
        for listener in listeners { listener.tell(.changed(snapshot), then: outcome) }
    }

    func progressed(_ snapshot: DownloadSnapshot) {
        let listeners = state.withLock { state in
            state.snapshot = snapshot
            return state.listeners.values.map(\.self)
        }
        for listener in listeners { listener.tell(.progressed(snapshot), then: nil) }
    }

    /// - Parameter onlyTheEnd: nothing is told before the outcome.
    func listen(onlyTheEnd: Bool = false) -> Listener {
        state.withLock { state in
            let number = state.next
            state.next += 1
            let listener = Listener(onlyTheEnd: onlyTheEnd) { [weak self] in self?.leave(number) }
            listener.tell(.changed(state.snapshot), then: state.outcome)
            if state.outcome == nil { state.listeners[number] = listener }
            return listener
        }
    }

    private func leave(_ number: Int) {
        state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }

    /// One listener's queue: states in order, and the latest progress only.
    final class Listener: Sendable {
        private struct State {
            var waiting: Deque<DownloadEvent> = []
            var hasEnded = false
            var continuation: CheckedContinuation<DownloadEvent?, Never>?
        }
        private let state = Mutex(State())
        private let onlyTheEnd: Bool
        private let onLeave: @Sendable () -> Void

        init(onlyTheEnd: Bool, onLeave: @escaping @Sendable () -> Void) {
            self.onlyTheEnd = onlyTheEnd
            self.onLeave = onLeave
        }

        func tell(_ event: DownloadEvent, then outcome: DownloadOutcome?) {
            if onlyTheEnd, outcome == nil { return }
            state.withLock { state in
                guard !state.hasEnded else { return }
                if case .progressed? = state.waiting.last, case .progressed = event { state.waiting.removeLast() }
                state.waiting.append(event)
                if let outcome {
                    state.waiting.append(.ended(outcome))
                    state.hasEnded = true
                }
                if let continuation = state.continuation {
                    state.continuation = nil
                    continuation.resume(returning: state.waiting.popFirst())
                }
            }
        }

        /// The next event; nil after the last one, and when the task is cancelled.
        func next() async -> DownloadEvent? {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let displaced = state.withLock { state -> CheckedContinuation<DownloadEvent?, Never>? in
                        if let event = state.waiting.popFirst() {
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
            let continuation = state.withLock { state in
                state.hasEnded = true
                state.waiting = []
                defer { state.continuation = nil }
                return state.continuation
            }
            continuation?.resume(returning: nil)
            onLeave()
        }
    }
}

/// The events of one run of a download: first its present state, last how it ended.
///
/// A slow reader loses progress, never a change of state. Each iteration listens on its own.
public struct DownloadEvents: AsyncSequence, Sendable {
    public typealias Element = DownloadEvent
    public typealias Failure = Never

    private let hub: EventHub
    private let onlyTheEnd: Bool

    init(_ hub: EventHub, onlyTheEnd: Bool = false) {
        self.hub = hub
        self.onlyTheEnd = onlyTheEnd
    }

    public func makeAsyncIterator() -> Iterator { Iterator(Seat(hub.listen(onlyTheEnd: onlyTheEnd))) }

    public struct Iterator: AsyncIteratorProtocol {
        private let seat: Seat

        fileprivate init(_ seat: Seat) { self.seat = seat }

        /// - Returns: nil after the last event, and when the task is cancelled.
        public mutating func next() async -> DownloadEvent? { await seat.listener.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> DownloadEvent? {
            await seat.listener.next()
        }
    }

    /// Leaves when the last copy of the iterator goes.
    fileprivate final class Seat: Sendable {
        let listener: EventHub.Listener
        init(_ listener: EventHub.Listener) { self.listener = listener }
        deinit { listener.leave() }
    }
}
