internal import Synchronization

/// Receives the events of one download.
protocol EventReceiver: AnyObject, Sendable {
    /// - Parameter outcome: outcome of the run if the run ends with this event; `nil` if the run continues.
    func tell(_ event: DownloadEvent, then outcome: DownloadOutcome?)
}

/// Distributes the events of one download to any number of listeners. Does not wait for listeners.
final class EventBroadcaster: Sendable {
    private struct State {
        var snapshot: DownloadSnapshot
        var outcome: DownloadOutcome?
        var listeners: [Int: any EventReceiver] = [:]
        /// Receivers that remain after the end of a run, and get the events of the next run.
        var followers: [Int: any EventReceiver] = [:]
        var next = 0
        var isClosed = false

        /// - Returns: the receivers of the event.
        mutating func change(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome?) -> [any EventReceiver] {
            // Followers get no changes after the end of a run, such as another name of its file.
            let isOfRun = self.outcome == nil || outcome == nil
            self.snapshot = snapshot
            self.outcome = outcome
            defer {
                if outcome != nil { listeners = [:] }
                if isClosed { followers = [:] }
            }
            return Array(listeners.values) + (isOfRun ? Array(followers.values) : [])
        }
    }
    private let state: Mutex<State>
    private let onGone: @Sendable () -> Void

    /// - Parameters:
    ///   - outcome: how the last run ended; `nil` while a run is under way.
    ///   - onGone: called when the last reference is released.
    init(
        _ snapshot: DownloadSnapshot,
        outcome: DownloadOutcome? = nil,
        onGone: @escaping @Sendable () -> Void = {}
    ) {
        state = Mutex(State(snapshot: snapshot, outcome: outcome))
        self.onGone = onGone
    }

    deinit { onGone() }

    var snapshot: DownloadSnapshot { state.withLock { $0.snapshot } }
    var outcome: DownloadOutcome? { state.withLock { $0.outcome } }

    /// Reports a change of state, and the outcome if it ends the run. After the end of a run, a state without an
    /// outcome begins a new run.
    func changed(_ snapshot: DownloadSnapshot, outcome: DownloadOutcome? = nil) {
        let listeners = state.withLock { $0.isClosed ? [] : $0.change(snapshot, outcome) }
        for listener in listeners { listener.tell(.changed(snapshot), then: outcome) }
    }

    /// Closes the hub, after which nothing changes. A run that has not ended ends with `outcome`.
    func close(_ outcome: DownloadOutcome, _ snapshot: DownloadSnapshot?) {
        let (last, listeners) = state.withLock { state in
            let last = snapshot ?? state.snapshot
            guard !state.isClosed, state.outcome == nil else {
                state.isClosed = true
                state.followers = [:]
                return (last, [any EventReceiver]())
            }
            state.isClosed = true
            return (last, state.change(last, outcome))
        }
        for listener in listeners { listener.tell(.changed(last), then: outcome) }
    }

    func progressed(_ snapshot: DownloadSnapshot) {
        let listeners = state.withLock { state in
            guard !state.isClosed else { return [any EventReceiver]() }
            state.snapshot = snapshot
            return Array(state.listeners.values) + (state.outcome == nil ? Array(state.followers.values) : [])
        }
        for listener in listeners { listener.tell(.progressed(snapshot), then: nil) }
    }

    /// - Parameter onlyTheEnd: whether the listener gets no event before the end of the run.
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

    /// Sends the receiver the present state, and then every event of this run and of later ones. The hub holds the
    /// receiver until the hub closes or is released.
    func attach(_ receiver: some EventReceiver) {
        state.withLock { state in
            receiver.tell(.changed(state.snapshot), then: state.outcome)
            guard !state.isClosed else { return }
            state.followers[state.next] = receiver
            state.next += 1
        }
    }

    private func leave(_ number: Int) {
        state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }

    /// A listener that reads one event after another.
    final class Listener: EventReceiver {
        private let reader = EventReader<EventQueue>()
        private let onlyTheEnd: Bool
        private let onLeave: @Sendable () -> Void

        init(onlyTheEnd: Bool, onLeave: @escaping @Sendable () -> Void) {
            self.onlyTheEnd = onlyTheEnd
            self.onLeave = onLeave
        }

        func tell(_ event: DownloadEvent, then outcome: DownloadOutcome?) {
            if onlyTheEnd, outcome == nil { return }
            reader.append(isLast: outcome != nil) { line in
                line.append(event)
                if let outcome { line.append(.ended(outcome)) }
            }
        }

        /// Returns the next event; `nil` after the last one, and when the task is cancelled.
        func next() async -> DownloadEvent? { await reader.next(onCancel: leave) }

        /// Ends the listener after the events that are in its queue.
        func finish() {
            reader.end()
            onLeave()
        }

        func leave() {
            reader.end(dropsWaiting: true)
            onLeave()
        }
    }
}

/// The events of one run of a download: first its present state, last its outcome.
///
/// A slow reader misses reports of progress. A reader that is more than 256 events behind misses the oldest events, but
/// every reader gets the outcome. Each iteration has its own queue. An iteration also ends when its task is cancelled.
/// In a task of a `ServiceGroup` (ServiceLifecycle) it ends at the group's graceful shutdown, after the events that
/// happened before the shutdown.
public typealias DownloadEvents = EventSequence<DownloadEvent>

extension EventSequence<DownloadEvent> {
    /// - Parameter onlyTheEnd: whether the sequence has no event before the end of the run.
    init(_ hub: EventBroadcaster, onlyTheEnd: Bool = false) {
        self.init {
            let listener = hub.listen(onlyTheEnd: onlyTheEnd)
            return Subscription(read: listener.next, finish: listener.finish, leave: listener.leave)
        }
    }
}
