internal import Synchronization

/// The closures of one chain: called one after another, each event for all of them before the next event.
///
/// There is a task only while there is something to tell. The hub holds its lines. During a run a line holds the hub as well:
/// who lets go of all handles is called back none the less. Between two runs only the handles hold it.
final class CallbackLine: EventReceiver {
    typealias Callback = EventCallback<DownloadEvent>

    private struct State {
        var callbacks: [Callback] = []
        /// Joined when something had been told already, which they have not heard.
        var joined: [Callback] = []
        var waiting = EventQueue()
        /// Told last to all.
        var told: DownloadSnapshot?
        /// The end of a run, where it was told last.
        var toldOutcome: DownloadOutcome?
        var isRunning = false
        weak var hub: EventBroadcaster?
        /// While the run has not ended.
        var heldHub: EventBroadcaster?

        /// What is to be called next, and who.
        mutating func next() -> (DownloadEvent, [Callback])? {
            if !joined.isEmpty, let told {
                defer {
                    callbacks += joined
                    joined = []
                }
                // Who joins after the end of a run hears of the end.
                guard let toldOutcome else { return (.changed(told), joined) }
                return (.ended(toldOutcome), joined)
            }
            callbacks += joined
            joined = []
            guard let event = waiting.popFirst() else { return nil }
            switch event {
            case .changed(let snapshot), .progressed(let snapshot): (told, toldOutcome) = (snapshot, nil)
            case .ended(let outcome): toldOutcome = outcome
            }
            return (event, callbacks)
        }
    }
    private let state: Mutex<State>

    init(_ hub: EventBroadcaster) { state = Mutex(State(hub: hub)) }

    func add(_ callback: Callback) {
        run { $0.joined.append(callback) }
    }

    func tell(_ event: DownloadEvent, then outcome: DownloadOutcome?) {
        // Not let go of under the lock: its end may come back here.
        var released: EventBroadcaster?
        run { state in
            if outcome == nil {
                // Another run may have begun.
                if state.heldHub == nil { state.heldHub = state.hub }
            }
            state.waiting.append(event)
            guard let outcome else { return }
            state.waiting.append(.ended(outcome))
            (released, state.heldHub) = (state.heldHub, nil)
        }
        withExtendedLifetime(released) {}
    }

    private func run(_ change: (inout State) -> Void) {
        let isIdle = state.withLock { state in
            change(&state)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isIdle else { return }
        Task {
            while let (event, callbacks) = next() {
                for callback in callbacks { await callback(event) }
            }
        }
    }

    private func next() -> (DownloadEvent, [Callback])? {
        state.withLock { state in
            let next = state.next()
            if next == nil { state.isRunning = false }
            return next
        }
    }
}
