internal import CHaulSystem
internal import Synchronization

/// The threads of the database connections of a process.
///
/// A process calls ``end(within:)`` before it exits. The exit handlers of OpenSSL would otherwise free what a thread
/// still needs to close its connection, and the process would abort.
package final class DatabaseThreads: Sendable {
    package static let ofProcess = DatabaseThreads()

    private struct State {
        /// By identity. An entry holds its thread until the thread ends.
        var running: [UInt64: DatabaseThread] = [:]
        /// Threads that are ending and have to be joined.
        var ended: [UInt64] = []
    }
    private let state = Mutex(State())

    package init() {}

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Calls `body` on a new thread for a connection.
    ///
    /// - Returns: 0, or the errno if no thread could be started. In that case `body` is not called.
    func start(_ thread: DatabaseThread, _ body: @escaping @Sendable () -> Void) -> Int32 {
        let work = Unmanaged.passRetained(
            Work { [self] in
                body()
                end(haul_this_thread())
            }
        )
        // The new thread ends only after its entry is there, because `end(_:)` waits for the lock.
        let code = state.withLock { state in
            for identity in state.ended { _ = haul_join_thread(identity, Self.forever) }
            state.ended = []
            var identity: UInt64 = 0
            let code = haul_start_joinable_thread(
                { context in
                    if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
                    return nil
                },
                work.toOpaque(),
                &identity
            )
            if code == 0 { state.running[identity] = thread }
            return code
        }
        // A thread that was started releases `work` itself.
        if code != 0 { work.release() }
        return code
    }

    private func end(_ identity: UInt64) {
        // Releases the thread outside the lock.
        _ = state.withLock { state in
            state.ended.append(identity)
            return state.running.removeValue(forKey: identity)
        }
    }

    /// Number of threads that have not ended.
    var count: Int { state.withLock { $0.running.count } }

    /// Closes all connections, and waits until their threads have ended. Calls of these connections fail with
    /// ``FleetError/Code/cancelled``. No other call of this value may be made meanwhile.
    ///
    /// - Returns: `false` if a thread has not ended in time, for example because it waits for a name server.
    @discardableResult
    package func end(within limit: Duration) -> Bool {
        let (running, ended) = state.withLock { ($0.running, $0.ended) }
        for thread in running.values { thread.close() }
        let deadline = ContinuousClock.now + limit
        var isWhole = true
        for identity in ended + running.keys {
            let rest = max(.zero, deadline - .now)
            isWhole = haul_join_thread(identity, Int64(rest / .milliseconds(1))) == 0 && isWhole
        }
        state.withLock { $0.ended = [] }
        return isWhole
    }

    /// An ended thread has nothing left to do but to return.
    private static let forever: Int64 = 1 << 40
}
