internal import CHaulSystem

/// Starts threads that nothing joins.
///
/// `Thread.detachNewThread` reports no failure. If the user may have no more threads (`ulimit -u`) or no memory is left
/// for a stack, the caller would wait for the work of that thread for ever.
package enum DetachedThread {
    /// A function that starts a thread for `body`: ``start(_:)``, or a substitute in tests.
    ///
    /// - Returns: 0, or the errno if no thread could be started. In that case `body` is not called.
    package typealias Starter = @Sendable (_ body: @escaping @Sendable () -> Void) -> Int32

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Calls `body` on a new thread.
    ///
    /// - Returns: 0, or the errno if no thread could be started. In that case `body` is not called.
    @Sendable package static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        let work = Unmanaged.passRetained(Work(body))
        let code = haul_start_thread(
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            },
            work.toOpaque()
        )
        // A thread that was started releases `work` itself.
        if code != 0 { work.release() }
        return code
    }
}
