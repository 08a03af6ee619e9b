/// Monitors the network through the system: interfaces, addresses and routes by rtnetlink. A ``NetworkMeter`` says
/// whether the network is metered; without one, ``NetworkStatus/isMetered`` is `nil`.
///
/// On systems other than Linux, and in a sandbox that forbids rtnetlink, the status is ``NetworkStatus/unknown``.
/// Monitoring begins with the initialiser. It needs neither privileges nor a run loop, and does not keep the process
/// running.
package final class SystemNetworkMonitor: NetworkMonitor {
    private let hub = StatusHub()
    private let links: LinkWatch?
    private let meterTask: Task<Void, Never>?

    /// Starts to monitor the network.
    ///
    /// - Parameter meter: asked whether the network is metered. The first status waits for the first value of the
    ///   meter. With `nil`, ``NetworkStatus/isMetered`` stays `nil`.
    package convenience init(meter: (any NetworkMeter)? = nil) {
        self.init(meter: meter) { () throws(SystemCalls.Errno) in try SystemCalls.openNetlink() }
    }

    init(meter: (any NetworkMeter)? = nil, openLinks: () throws(SystemCalls.Errno) -> Int32) {
        let descriptor: Int32?
        do throws(SystemCalls.Errno) { descriptor = try openLinks() } catch {
            // The kernel refuses the socket, or the system is not Linux. The status is then unknown, which counts as
            // online.
            descriptor = nil
        }
        links = descriptor.map { [hub] in LinkWatch($0) { hub.setLinks($0 ?? .unknown) } }
        if links == nil { hub.setLinks(.unknown) }
        meterTask = meter.map { [hub] meter in
            Task {
                for await isMetered in meter.readings() { hub.setMetered(isMetered) }
                hub.setMetered(nil)
            }
        }
        if meter == nil { hub.setMetered(nil) }
    }

    deinit { stop() }

    /// Returns the present status once interfaces and metering are known, then a status after each change; see
    /// ``NetworkMonitor/statuses()``.
    package func statuses() -> AsyncStream<NetworkStatus> { hub.statuses() }

    /// Ends every sequence, closes the netlink socket and stops reading the meter; see ``NetworkMonitor/stop()``.
    package func stop() {
        links?.stop()
        meterTask?.cancel()
        hub.finish()
    }
}
