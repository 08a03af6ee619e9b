/// The network as the system tells of it: interfaces, addresses and routes by rtnetlink, and whether it is metered by
/// NetworkManager over D-Bus, each where it is there.
///
/// On systems other than Linux, and where a sandbox forbids to look, the status is ``NetworkStatus/unknown``. Follows the
/// network from its making on; needs neither rights nor a run loop, and does not keep the process running.
public final class SystemNetworkMonitor: NetworkMonitor {
    private let hub = StatusHub()
    private let links: LinkWatch?
    private let meter: MeterWatch

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

    public func statuses() -> AsyncStream<NetworkStatus> { hub.statuses() }

    public func stop() {
        links?.stop()
        meter.stop()
        hub.finish()
    }
}
