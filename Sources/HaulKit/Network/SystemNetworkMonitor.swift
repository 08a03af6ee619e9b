/// Monitors the network through the system: interfaces, addresses and routes by rtnetlink, and by NetworkManager over
/// D-Bus whether the network is metered, each where it is available.
///
/// On systems other than Linux, and in a sandbox that forbids it, the status is ``NetworkStatus/unknown``. Monitoring
/// begins with the initialiser. It needs neither privileges nor a run loop, and does not keep the process running.
public final class SystemNetworkMonitor: NetworkMonitor {
    private let hub = StatusHub()
    private let links: LinkWatch?
    private let meter: MeterWatch

    /// Starts to monitor the network.
    public convenience init() {
        self.init(systemBus: DBusAddress.systemBus()) { () throws(SystemCalls.Errno) in try SystemCalls.openNetlink() }
    }

    init(systemBus: [DBusAddress], openLinks: () throws(SystemCalls.Errno) -> Int32) {
        let descriptor: Int32?
        do throws(SystemCalls.Errno) { descriptor = try openLinks() } catch {
            // Refused, or not Linux: nothing is known, which counts as online.
            descriptor = nil
        }
        links = descriptor.map { [hub] in LinkWatch($0) { hub.setLinks($0 ?? .unknown) } }
        if links == nil { hub.setLinks(.unknown) }
        meter = MeterWatch(systemBus) { [hub] in hub.setMetered($0) }
    }

    deinit { stop() }

    /// The present status, once interfaces and metering are known, then one after each change; see
    /// ``NetworkMonitor/statuses()``.
    public func statuses() -> AsyncStream<NetworkStatus> { hub.statuses() }

    /// Ends every sequence and closes the connections to kernel and D-Bus; see ``NetworkMonitor/stop()``.
    public func stop() {
        links?.stop()
        meter.stop()
        hub.finish()
    }
}
