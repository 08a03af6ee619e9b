/// Reports the state of the network and its changes.
///
/// The monitor of the library asks the system for interfaces, addresses and routes, and a ``NetworkMeter`` whether the
/// network is metered. An application with better knowledge, or a test, provides its own monitor.
public protocol NetworkMonitor: Sendable {
    /// Returns the present status as soon as it is known, then a status after each change. If changes are faster than
    /// the reader, only the newest is kept. Each call begins a separate sequence, which ends with ``stop()``.
    func statuses() -> AsyncStream<NetworkStatus>
    /// Ends every sequence and releases the system resources of the monitor. May be called more than once.
    func stop()
}
