internal import Synchronization

/// The closures of one chain. They are called one after another, and each event reaches all of them before the next
/// event.
///
/// A task exists only while there are events to deliver. The hub (``EventBroadcaster``) holds its lines. During a run a
/// line also holds the hub, so that closures are called even if the application holds no handle. Between two runs only
/// the handles hold the hub.
final class CallbackLine: EventReceiver {
    typealias Callback = EventCallback<DownloadEvent>

    private struct State {
        var callbacks: [Callback] = []
        /// New closures. They get the last delivered state first.
        var joined: [Callback] = []
        var waiting = EventQueue()
        /// The last delivered snapshot.
        var told: DownloadSnapshot?
        /// The outcome, if the end of a run was delivered last.
        var toldOutcome: DownloadOutcome?
        var isRunning = false
        weak var hub: EventBroadcaster?
        /// The hub, until the run has ended.
        var heldHub: EventBroadcaster?

        /// Returns the next event and the closures to call with it.
        mutating func next() -> (DownloadEvent, [Callback])? {
            if !joined.isEmpty, let told {
                defer {
                    callbacks += joined
                    joined = []
                }
                // A closure that joins after the end of a run gets the outcome of that run.
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
        // Released outside of the lock, because the deinitialiser of the hub takes the lock of the registry.
        var released: EventBroadcaster?
        run { state in
            if outcome == nil {
                // Holds the hub again, because a new run may have begun.
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
