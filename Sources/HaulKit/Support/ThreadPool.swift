internal import DequeModule
internal import Dispatch
internal import Synchronization

/// Runs calls that may block, on as many threads as there are calls at once, up to a limit. Further calls wait.
///
/// One dispatch queue per file would make one thread per file: Dispatch gives every serial queue another thread while
/// the others block.
final class ThreadPool: Sendable {
    typealias Call = BlockingExecutor.Call

    private struct State {
        var calls: Deque<Call> = []
        var threads = 0
        /// Threads that wait for a call and have not been woken.
        var idle = 0
    }

    private enum Start { case nothing, wake, thread }

    private let most: Int
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let starter: DetachedThread.Starter
    /// Time after which an idle thread ends.
    private static let patience = DispatchTimeInterval.seconds(5)

    /// - Parameter most: number of calls that run at once.
    init(most: Int, starter: @escaping DetachedThread.Starter = DetachedThread.start) {
        self.most = max(1, most)
        self.starter = starter
    }

    var threads: Int { state.withLock(\.threads) }

    /// Runs a call after all earlier calls have begun.
    func async(_ call: @escaping Call) {
        let start: Start = state.withLock { state in
            state.calls.append(call)
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < most else { return .nothing }
            state.threads += 1
            return .thread
        }
        switch start {
        case .nothing: break
        case .wake: wake.signal()
        case .thread: startThread()
        }
    }

    private func startThread() {
        guard starter({ self.work() }) != 0 else { return }
        // The system has refused a further thread. The other threads of the pool run the call; if the pool has none, a
        // thread of Dispatch runs it.
        let isAlone = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        if isAlone { DispatchQueue.global().async { self.runAll() } }
    }

    private func runAll() {
        while let call = state.withLock({ $0.calls.popFirst() }) { call() }
    }

    private func work() {
        while true {
            runAll()
            let isIdle = state.withLock { state in
                // A call may have arrived since `runAll()` returned.
                guard state.calls.isEmpty else { return false }
                state.idle += 1
                return true
            }
            guard isIdle, wake.wait(timeout: .now() + Self.patience) == .timedOut else { continue }
            let ends = state.withLock { state in
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.threads -= 1
                return true
            }
            if ends { return }
            // `async(_:)` has counted this thread as woken, so its signal is about to arrive.
            wake.wait()
        }
    }
}

extension SerialQueue {
    /// Makes a queue whose calls run one after another on the threads of a pool. Calls of other queues may run between
    /// two of these calls.
    init(on pool: ThreadPool) {
        let line = Line(pool)
        self.init { line.async($0) }
    }

    private final class Line: Sendable {
        private struct State {
            var calls: Deque<BlockingExecutor.Call> = []
            var isRunning = false
        }
        private let pool: ThreadPool
        private let state = Mutex(State())

        init(_ pool: ThreadPool) { self.pool = pool }

        func async(_ call: @escaping BlockingExecutor.Call) {
            let isFirst = state.withLock { state in
                state.calls.append(call)
                defer { state.isRunning = true }
                return !state.isRunning
            }
            if isFirst { pool.async { self.runNext() } }
        }

        private func runNext() {
            state.withLock { $0.calls.popFirst() }?()
            let hasMore = state.withLock { state in
                state.isRunning = !state.calls.isEmpty
                return state.isRunning
            }
            if hasMore { pool.async { self.runNext() } }
        }
    }
}
