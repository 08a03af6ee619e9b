/// Interface or local address from which connections are made.
///
/// The binding sets the local address of a connection; the system chooses the route of its packets. If two networks
/// each have a default route, packets leave through the one that the system does not prefer only if there is a routing
/// rule by source address.
public enum NetworkBinding: Sendable, Hashable, CustomStringConvertible {
    /// The interface with this name, such as `eth1` or `tun0`. A connection uses the addresses that the interface has
    /// when the connection is made.
    case interface(String)
    /// The interface with this address, IPv4 or IPv6.
    case localAddress(String)

    /// Reads an IP address as ``localAddress(_:)``, and any other text as ``interface(_:)``.
    package init(_ text: String) { self = IPAddress(text) == nil ? .interface(text) : .localAddress(text) }

    /// The name of the interface, or the address.
    public var description: String {
        switch self {
        case .interface(let name): name
        case .localAddress(let address): address
        }
    }
}
