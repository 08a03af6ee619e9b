/// What is known of the network at one moment.
public struct NetworkStatus: Sendable, Hashable {
    /// A network interface of this machine.
    public struct Interface: Sendable, Hashable {
        public var name: String
        /// The system's number of it.
        public var index: Int
        /// Switched on.
        public var isUp: Bool
        /// Plugged in, associated: a packet given to it would leave.
        public var hasCarrier: Bool
        public var isLoopback: Bool
        /// Its own addresses, in canonical notation, without those that cannot be used yet.
        public var addresses: [String]

        public init(
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

    /// Ordered by their numbers; nil where the system does not say.
    public var interfaces: [Interface]?
    /// Whether somebody pays for what goes through; nil where nobody says.
    public var isMetered: Bool?
    /// Whether there is a way to hosts that no interface leads to directly; nil where the system does not say.
    public var hasDefaultRoute: Bool?

    /// Nothing is known. Counts as online: who cannot look does not forbid.
    public static let unknown = NetworkStatus()

    public init(interfaces: [Interface]? = nil, isMetered: Bool? = nil, hasDefaultRoute: Bool? = nil) {
        self.interfaces = interfaces
        self.isMetered = isMetered
        self.hasDefaultRoute = hasDefaultRoute
    }

    /// Whether a download from another machine can go anywhere at all.
    ///
    /// Without a binding, some interface that is not loopback must be up, have a carrier and an address; an IPv6 link-local
    /// one alone does not count, since each has that at once. A default route is not asked for: a network may be a room with a
    /// server in it. With a binding, the interface that it names must be so, or the one with its address.
    public func isOnline(via binding: NetworkBinding? = nil) -> Bool {
        guard let interfaces else { return true }
        switch binding {
        case nil:
            return interfaces.contains { $0.isReady && !$0.isLoopback && $0.addresses.contains(where: Self.leadsAway) }
        case .interface(let name):
            return interfaces.contains { $0.isReady && $0.name == name && !$0.addresses.isEmpty }
        case .localAddress(let text):
            guard let address = IPAddress(text) else { return false }
            // A whole network of addresses belongs to the loopback interface; it names one of them.
            if address.isLoopback { return interfaces.contains { $0.isReady && $0.isLoopback } }
            return interfaces.contains { $0.isReady && $0.addresses.contains { IPAddress($0) == address } }
        }
    }

    /// The same for a given host: this machine itself is always within reach.
    ///
    /// - Parameter host: a name or an address, an IPv6 one with or without brackets.
    public func isOnline(for host: String, via binding: NetworkBinding? = nil) -> Bool {
        Self.isThisMachine(host) || isOnline(via: binding)
    }

    /// `localhost` and what is under it (RFC 6761 §6.3), 127.0.0.0/8 and ::1.
    static func isThisMachine(_ host: String) -> Bool {
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
