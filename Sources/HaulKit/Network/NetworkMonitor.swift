/// Knows the state of the network, and tells of its changes.
///
/// ``SystemNetworkMonitor`` asks the system. An application that knows better, or a test, brings its own.
public protocol NetworkMonitor: Sendable {
    /// The present status first, as soon as it is known, then one after each change. Changes that come faster than they are
    /// read become one: the newest counts. Each call begins a sequence of its own; it ends with ``stop()``.
    func statuses() -> AsyncStream<NetworkStatus>
    /// Ends every sequence and gives back what the monitor holds of the system. May be called more than once.
    func stop()
}
