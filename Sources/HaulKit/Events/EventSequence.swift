/// A sequence of events for any number of tasks: ``DownloadEvents`` and ``DownloaderEvents``. Each iteration has a
/// subscription of its own.
///
/// An iteration ends when its task is cancelled. In a task of a `ServiceGroup` (ServiceLifecycle), an iteration ends at
/// the group's graceful shutdown, after the events that happened before the shutdown.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence does not throw.
    public typealias Failure = Never

    private let makeSubscription: @Sendable () -> Subscription<Element>

    /// - Parameter subscribe: begins to read; called once for each iteration.
    init(_ subscribe: @escaping @Sendable () -> Subscription<Element>) { makeSubscription = subscribe }

    /// Begins an iteration with a subscription of its own.
    public func makeAsyncIterator() -> Iterator { Iterator(makeSubscription()) }

    /// Reads the events of an ``EventSequence``. The queue of an iterator lasts until the iterator is released. Use an
    /// iterator in one task at a time.
    public struct Iterator: AsyncIteratorProtocol {
        private let subscription: Subscription<Element>

        fileprivate init(_ subscription: Subscription<Element>) { self.subscription = subscription }

        /// Waits for the next event on the caller's actor. `next()` does the same on no actor.
        ///
        /// - Returns: `nil` after the last event, and when the task is cancelled or shuts down gracefully.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> Element? {
            await subscription.next()
        }
    }
}
