internal import Synchronization

/// Combines the status of the links with the metering, and sends the result to the listeners.
final class StatusHub: Sendable {
    private struct State {
        var links: NetworkStatus?
        /// The outer `nil` means that no value has been set yet.
        var isMetered: Bool??
        var listeners: [Int: AsyncStream<NetworkStatus>.Continuation] = [:]
        var lastListener = 0
        var hasEnded = false

        /// `nil` until both parts are known. Otherwise a download could begin on a metered network before the meter has
        /// answered.
        var status: NetworkStatus? {
            guard var status = links, let isMetered else { return nil }
            status.isMetered = isMetered
            return status
        }
    }
    private let state = Mutex(State())

    func setLinks(_ links: NetworkStatus) { change { $0.links = links } }
    func setMetered(_ isMetered: Bool?) { change { $0.isMetered = .some(isMetered) } }

    func statuses() -> AsyncStream<NetworkStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkStatus.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let number: Int? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.lastListener += 1
            state.listeners[state.lastListener] = continuation
            if let status = state.status { continuation.yield(status) }
            return state.lastListener
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        // Takes the lock of the hub in a task of its own, to avoid a deadlock: the cancellation of a reader holds the
        // lock of the reader's task, and `yield` takes that lock under the lock of the hub.
        continuation.onTermination = { [weak self] _ in
            Task { self?.state.withLock { $0.listeners[number] = nil } }
        }
        return stream
    }

    func finish() {
        let listeners = state.withLock { state in
            state.hasEnded = true
            defer { state.listeners = [:] }
            return state.listeners
        }
        // Ends the streams outside of the lock, because `finish()` calls `onTermination` at once.
        for listener in listeners.values { listener.finish() }
    }

    private func change(_ change: (inout State) -> Void) {
        state.withLock { state in
            let before = state.status
            change(&state)
            guard let status = state.status, status != before else { return }
            for listener in state.listeners.values { listener.yield(status) }
        }
    }
}
