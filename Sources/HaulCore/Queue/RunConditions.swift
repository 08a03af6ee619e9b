/// The conditions that keep downloads from running: the timetable, a metered network, or no network.
package struct RunConditions {
    /// The network policy; see ``Downloader/Configuration/Network/waitsForNetwork`` and
    /// ``Downloader/Configuration/Network/allowsMetered``.
    package var waitsForNetwork: Bool
    package var allowsMetered: Bool
    package var binding: NetworkBinding?
    /// The last known status of the network.
    package var network = NetworkStatus.unknown
    /// The present rule of the timetable.
    package var rule = Timetable.Rule.open(bytesPerSecond: nil)

    package init(waitsForNetwork: Bool, allowsMetered: Bool, binding: NetworkBinding?) {
        self.waitsForNetwork = waitsForNetwork
        self.allowsMetered = allowsMetered
        self.binding = binding
    }

    package var isOutsideHours: Bool { rule == .closed }
    package var isMetered: Bool { !allowsMetered && network.isMetered == true }
    var isOffline: Bool {
        // A machine with no interface but loopback does not count as offline, because it has no network that could
        // return.
        let hasNetworks = network.interfaces?.contains { !$0.isLoopback } ?? false
        return waitsForNetwork && hasNetworks && !network.isOnline(via: binding)
    }
    /// The speed limit of the timetable; `nil` without a limit, and while the timetable allows no downloads.
    package var bytesPerSecond: Int64? {
        if case .open(let bytesPerSecond) = rule { bytesPerSecond } else { nil }
    }

    /// The present reasons; waiting downloads report the first.
    package var reasons: [HoldReason] {
        (isOffline ? [.offline] : []) + (isMetered ? [.metered] : []) + (isOutsideHours ? [.outsideHours] : [])
    }
    /// The reasons that were last reported for waiting downloads.
    package var toldReasons: [HoldReason] = []

    /// The reason that keeps a download of `host` from running. A download from this machine is never offline or
    /// metered.
    package func reason(forHost host: String) -> HoldReason? {
        let reasons = reasons
        guard !reasons.isEmpty, NetworkStatus.isThisMachine(host) else { return reasons.first }
        return reasons.first { $0 == .outsideHours }
    }
}
