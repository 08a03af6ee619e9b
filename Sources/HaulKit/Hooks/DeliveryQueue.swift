internal import DequeModule
internal import Synchronization

/// Starts deliveries in the order in which they were added, and runs at most `width` at once. The caller of ``add(_:)``
/// never waits.
final class DeliveryQueue: Sendable {
    typealias Job = @Sendable () async -> Void

    private struct State {
        var waiting: Deque<Job> = []
        var running: [Int: Task<Void, Never>] = [:]
        var isClosed = false
        var listeners: [Int: CheckedContinuation<Void, Never>] = [:]
        var numbers = 0

        var isIdle: Bool { waiting.isEmpty && running.isEmpty }

        mutating func number() -> Int {
            numbers += 1
            return numbers
        }
    }

    private let width: Int
    private let mostWaiting: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - width: largest number of deliveries at once.
    ///   - mostWaiting: largest number of waiting deliveries. Beyond it the oldest is dropped.
    init(width: Int, mostWaiting: Int) {
        self.width = max(1, width)
        self.mostWaiting = max(1, mostWaiting)
    }

    var isIdle: Bool { state.withLock { $0.isIdle } }

    /// - Returns: `false` if a delivery was dropped: the oldest because the queue is full, or `job` because the queue
    ///   is closed.
    func add(_ job: @escaping Job) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.waiting.append(job)
            startMore(&state)
            guard state.waiting.count > mostWaiting else { return true }
            state.waiting.removeFirst()
            return false
        }
    }

    /// Returns when no delivery waits or runs, or when the task is cancelled.
    func idle() async {
        let number = state.withLock { $0.number() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isIdle || Task.isCancelled { return true }
                    state.listeners[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.listeners.removeValue(forKey: number) }?.resume()
        }
    }

    /// Drops the waiting deliveries, cancels the running ones and accepts no more.
    ///
    /// - Returns: the number of deliveries that were dropped or cancelled.
    func close() -> Int {
        let (waiting, running, listeners) = state.withLock { state in
            let waiting = state.waiting.count
            (state.isClosed, state.waiting) = (true, [])
            return (waiting, state.running.values.map(\.self), takeListeners(&state))
        }
        for task in running { task.cancel() }
        for listener in listeners { listener.resume() }
        return waiting + running.count
    }

    private func startMore(_ state: inout State) {
        while state.running.count < width, let job = state.waiting.popFirst() {
            let number = state.number()
            state.running[number] = Task {
                await job()
                ended(number)
            }
        }
    }

    private func ended(_ number: Int) {
        let listeners = state.withLock { state in
            state.running[number] = nil
            startMore(&state)
            return takeListeners(&state)
        }
        for listener in listeners { listener.resume() }
    }

    /// Removes and returns the waiting callers of ``idle()`` if no delivery is left. Otherwise returns an empty array.
    private func takeListeners(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        guard state.isIdle else { return [] }
        defer { state.listeners = [:] }
        return state.listeners.values.map(\.self)
    }
}
