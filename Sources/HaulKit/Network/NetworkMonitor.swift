/// Reports the state of the network and its changes.
///
/// The monitor of the library asks the system for interfaces, addresses and routes. A ``NetworkMeter`` tells it whether
/// the network is metered. An application with better knowledge, or a test, provides its own monitor.
public protocol NetworkMonitor: Sendable {
    /// Returns the present status as soon as it is known, then a status after each change. If changes are faster than
    /// the reader, only the newest is kept. Each call begins a separate sequence, which ends with ``stop()``.
    func statuses() -> AsyncStream<NetworkStatus>
    /// Ends every sequence and releases the system resources of the monitor. May be called more than once.
    func stop()
}

/// Reports whether the network is metered (traffic is paid for).
///
/// HaulKit has no meter of its own. The product `HaulDesktop` has one for NetworkManager. An application with better
/// knowledge, or a test, provides its own in ``Downloader/Configuration/Network/meter``.
public protocol NetworkMeter: Sendable {
    /// Returns the present value as soon as it is known, then a value after each change. `nil` means that the value
    /// cannot be found out. Downloads may wait for the first value, so it must come soon. Monitoring begins with this
    /// call and ends when the sequence is no longer read. After the end of the sequence the value counts as unknown.
    func readings() -> AsyncStream<Bool?>
}
