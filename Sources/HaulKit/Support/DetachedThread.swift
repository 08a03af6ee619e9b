internal import CHaulSystem

/// A thread that nothing joins.
///
/// `Thread.detachNewThread` reports no failure. Where a user may have no more threads (`ulimit -u`) or no more memory is left for a
/// stack, whatever waits for that thread's work would wait without end.
package enum DetachedThread {
    /// Starts a thread for a body; ``start(_:)`` but in tests.
    ///
    /// - Returns: 0, or the errno for which there is no thread: the body is not called then.
    package typealias Starter = @Sendable (_ body: @escaping @Sendable () -> Void) -> Int32

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Calls `body` on a new thread.
    ///
    /// - Returns: 0, or the errno for which there is no thread: `body` is not called then.
    @Sendable package static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        let work = Unmanaged.passRetained(Work(body))
        let code = haul_start_thread(
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            },
            work.toOpaque()
        )
        // Otherwise the thread releases it.
        if code != 0 { work.release() }
        return code
    }
}
