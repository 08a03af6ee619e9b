internal import Synchronization

/// The closures of one chain: called one after another, each event for all of them before the next event.
///
/// There is a task only while there is something to tell. A run that has not ended holds its line, and the line the hub: who
/// lets go of all handles is called back none the less.
final class CallbackLine: EventReceiver {
    typealias Callback = EventCallback<DownloadEvent>

    private struct State {
        var callbacks: [Callback] = []
        /// Joined when something had been told already, which they have not heard.
        var joined: [Callback] = []
        var waiting = EventQueue()
        /// Told last to all.
        var told: DownloadSnapshot?
        /// Nothing comes after it.
        var outcome: DownloadOutcome?
        var isOutcomeTold = false
        var isRunning = false

        /// What is to be called next, and who.
        mutating func next() -> (DownloadEvent, [Callback])? {
            if !joined.isEmpty, let told {
                defer {
                    callbacks += joined
                    joined = []
                }
                // After the outcome nothing comes but the outcome.
                guard isOutcomeTold, let outcome else { return (.changed(told), joined) }
                return (.ended(outcome), joined)
            }
            callbacks += joined
            joined = []
            guard let event = waiting.popFirst() else { return nil }
            switch event {
            case .changed(let snapshot), .progressed(let snapshot): told = snapshot
            case .ended: isOutcomeTold = true
            }
            return (event, callbacks)
        }
    }
    private let state = Mutex(State())
    let hub: EventBroadcaster

    init(_ hub: EventBroadcaster) { self.hub = hub }

    /// Whether the line is of a run that is over, while the download has another one.
    var isOver: Bool {
        guard let outcome = state.withLock({ $0.outcome }) else { return false }
        return outcome != hub.outcome
    }

    func add(_ callback: Callback) {
        run { $0.joined.append(callback) }
    }

    func tell(_ event: DownloadEvent, then outcome: DownloadOutcome?) {
        run { state in
            guard state.outcome == nil else { return }
            state.waiting.append(event)
            guard let outcome else { return }
            state.waiting.append(.ended(outcome))
            state.outcome = outcome
        }
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
