/// The state of the machine's network at one moment.
public struct NetworkStatus: Sendable, Hashable {
    /// A network interface of this machine.
    package struct Interface: Sendable, Hashable {
        /// Name of the interface, such as `eth0`.
        package var name: String
        /// The system's number of the interface.
        package var index: Int
        /// Whether the interface is switched on.
        package var isUp: Bool
        /// Whether the interface has a link (cable plugged in, associated with an access point), so that packets can
        /// leave through the interface.
        package var hasCarrier: Bool
        /// Whether the interface leads only to this machine.
        package var isLoopback: Bool
        /// The interface's own addresses in canonical notation, without those that cannot be used yet.
        package var addresses: [String]

        package init(
            name: String,
            index: Int,
            isUp: Bool = true,
            hasCarrier: Bool = true,
            isLoopback: Bool = false,
            addresses: [String] = []
        ) {
            self.name = name
            self.index = index
            self.isUp = isUp
            self.hasCarrier = hasCarrier
            self.isLoopback = isLoopback
            self.addresses = addresses
        }
    }

    /// The interfaces, ordered by number; `nil` when the system does not report them.
    package var interfaces: [Interface]?
    /// Whether the network is metered (traffic is paid for); `nil` when this is not known.
    package var isMetered: Bool?
    /// Whether there is a default route; `nil` when the system does not report it.
    package var hasDefaultRoute: Bool?

    /// A status without any known value. Counts as online.
    package static let unknown = NetworkStatus()

    /// Describes a network for a ``NetworkMonitor`` of the application.
    ///
    /// - Parameters:
    ///   - isOnline: whether other machines can be reached; `true` also if this is not known.
    ///   - isMetered: whether the network is metered (traffic is paid for); `nil` if this is not known.
    public init(isOnline: Bool, isMetered: Bool? = nil) {
        let interfaces = isOnline ? nil : [Interface(name: "", index: 0, isUp: false, hasCarrier: false)]
        self.init(interfaces: interfaces, isMetered: isMetered)
    }

    /// Describes a network by its interfaces. `nil` means that a value is not known.
    ///
    /// - Parameters:
    ///   - interfaces: the interfaces, ordered by number.
    ///   - isMetered: whether the network is metered (traffic is paid for).
    ///   - hasDefaultRoute: whether there is a default route.
    package init(interfaces: [Interface]? = nil, isMetered: Bool? = nil, hasDefaultRoute: Bool? = nil) {
        self.interfaces = interfaces
        self.isMetered = isMetered
        self.hasDefaultRoute = hasDefaultRoute
    }

    /// Returns whether a download from another machine can connect at all; `true` if ``interfaces`` is `nil`.
    ///
    /// Without a binding, an interface other than loopback must be up and have a carrier and an address. An IPv6
    /// link-local address alone does not count, since every interface has such an address. A default route is not
    /// required, because the server may be in the local network.
    ///
    /// With a binding, the named interface, or the interface with the address, must be up and have a carrier and an
    /// address.
    package func isOnline(via binding: NetworkBinding? = nil) -> Bool {
        guard let interfaces else { return true }
        switch binding {
        case nil:
            return interfaces.contains { $0.isReady && !$0.isLoopback && $0.addresses.contains(where: Self.leadsAway) }
        case .interface(let name):
            return interfaces.contains { $0.isReady && $0.name == name && !$0.addresses.isEmpty }
        case .localAddress(let text):
            guard let address = IPAddress(text) else { return false }
            // All of 127.0.0.0/8 belongs to the loopback interface, which usually lists only 127.0.0.1.
            if address.isLoopback { return interfaces.contains { $0.isReady && $0.isLoopback } }
            return interfaces.contains { $0.isReady && $0.addresses.contains { IPAddress($0) == address } }
        }
    }

    /// Returns whether a download from `host` can connect at all. This machine itself can always be reached; for every
    /// other host ``isOnline(via:)`` decides.
    ///
    /// - Parameters:
    ///   - host: a name or an address. An IPv6 address may have brackets.
    ///   - binding: the interface or address to connect from.
    package func isOnline(for host: String, via binding: NetworkBinding? = nil) -> Bool {
        Self.isThisMachine(host) || isOnline(via: binding)
    }

    /// Returns whether `host` is `localhost` or a name below it (RFC 6761 §6.3), or an address in 127.0.0.0/8 or ::1.
    package static func isThisMachine(_ host: String) -> Bool {
        var name = host.lowercased()[...]
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        if let address = IPAddress(String(name)) { return address.isLoopback }
        if name.hasSuffix(".") { name = name.dropLast() }
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    private static func leadsAway(_ text: String) -> Bool { IPAddress(text).map { !$0.isVersion6LinkLocal } ?? true }
}

extension NetworkStatus.Interface {
    fileprivate var isReady: Bool { isUp && hasCarrier }
}
