internal import ServiceLifecycle

/// The reader of a sequence of events. Calls `leave` when the last iterator that uses it is released.
final class Subscription<Event: Sendable>: Sendable {
    private let read: @Sendable () async -> Event?
    private let finish: @Sendable () -> Void
    private let leave: @Sendable () -> Void

    /// - Parameters:
    ///   - read: waits for the next event; returns `nil` after the last one.
    ///   - finish: called at a graceful shutdown. Events that happened before it are still read.
    ///   - leave: called when nothing reads any more.
    init(
        read: @escaping @Sendable () async -> Event?,
        finish: @escaping @Sendable () -> Void,
        leave: @escaping @Sendable () -> Void
    ) {
        self.read = read
        self.finish = finish
        self.leave = leave
    }

    /// Returns the next event; `nil` after the last one, and when the task is cancelled or shuts down gracefully.
    func next() async -> Event? {
        await withGracefulShutdownHandler {
            await read()
        } onGracefulShutdown: { [finish] in
            finish()
        }
    }

    deinit { leave() }
}
