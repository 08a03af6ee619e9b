/// What keeps downloads from running now: hours, the kind of network, none at all.
struct RunConditions {
    /// What is asked of the network; see ``Downloader/Configuration/Network/waitsForNetwork`` and ``Downloader/Configuration/Network/allowsMetered``.
    var waitsForNetwork: Bool
    var allowsMetered: Bool
    var binding: NetworkBinding?
    /// How the network was last seen.
    var network = NetworkStatus.unknown
    /// What the timetable says now.
    var rule = Timetable.Rule.open(bytesPerSecond: nil)

    var isOutsideHours: Bool { rule == .closed }
    var isMetered: Bool { !allowsMetered && network.isMetered == true }
    var isOffline: Bool {
        // A machine that has only its loopback interface is not offline: it never had another network.
        let hasNetworks = network.interfaces?.contains { !$0.isLoopback } ?? false
        return waitsForNetwork && hasNetworks && !network.isOnline(via: binding)
    }
    /// What the timetable allows; nil for any speed.
    var bytesPerSecond: Int64? {
        if case .open(let bytesPerSecond) = rule { bytesPerSecond } else { nil }
    }

    /// The reasons that hold, the one first that downloads are told.
    var reasons: [HoldReason] {
        (isOffline ? [.offline] : []) + (isMetered ? [.metered] : []) + (isOutsideHours ? [.outsideHours] : [])
    }
    /// The reasons that waiting downloads were told.
    var toldReasons: [HoldReason] = []

    /// What keeps a download from running: this machine is never offline to itself, nor does it cost anything.
    func reason(forHost host: String) -> HoldReason? {
        let reasons = reasons
        guard !reasons.isEmpty, NetworkStatus.isThisMachine(host) else { return reasons.first }
        return reasons.first { $0 == .outsideHours }
    }
}
