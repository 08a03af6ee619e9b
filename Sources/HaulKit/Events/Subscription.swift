internal import ServiceLifecycle

/// The reader of a sequence of events. Leaves when the last copy of what reads with it goes.
final class Subscription<Event: Sendable>: Sendable {
    private let read: @Sendable () async -> Event?
    private let finish: @Sendable () -> Void
    private let leave: @Sendable () -> Void

    /// - Parameters:
    ///   - read: waits for the next event; nil after the last one.
    ///   - finish: called at a graceful shutdown: what has happened by then is still read.
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

    /// The next event; nil after the last one, and when the task is cancelled or shuts down gracefully.
    func next() async -> Event? {
        await withGracefulShutdownHandler {
            await read()
        } onGracefulShutdown: { [finish] in
            finish()
        }
    }

    deinit { leave() }
}
