/// Reports the state of the network and its changes.
///
/// ``SystemNetworkMonitor`` asks the system, and a ``NetworkMeter`` whether the network is metered. An application with better knowledge, or a test, provides its own.
public protocol NetworkMonitor: Sendable {
    /// The present status first, as soon as it is known, then one after each change. Changes that are faster than the
    /// reader are merged: the newest is kept. Each call begins a sequence of its own, which ends with ``stop()``.
    func statuses() -> AsyncStream<NetworkStatus>
    /// Ends every sequence and releases the monitor's system resources. May be called more than once.
    func stop()
}
