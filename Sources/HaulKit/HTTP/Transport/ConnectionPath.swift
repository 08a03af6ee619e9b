internal import Foundation

/// How a connection is made: over which route, from which local address, to which address. Each path has its own
/// client, because AsyncHTTPClient takes these settings only when a client is made.
struct ConnectionPath: Sendable, Hashable {
    /// The name of the host to connect to (of the proxy, if there is one), and one address of this name.
    struct Peer: Sendable, Hashable {
        let name: String
        let address: ResolvedAddress
    }

    var route: Route
    /// The local address to connect from; `nil` if the system chooses it.
    var source: String?
    /// `nil` if no name has to be looked up.
    var peer: Peer?
    /// Time limit for making a connection.
    var connectTimeout: Duration

    /// Returns the paths to a host, in the order in which they are tried.
    ///
    /// - Parameters:
    ///   - sources: local addresses to connect from; empty if the system chooses one.
    ///   - name: `nil` if no name has to be looked up.
    static func all(
        _ route: Route,
        from sources: [String],
        to name: String?,
        _ addresses: [ResolvedAddress],
        within connectTimeout: Duration
    ) -> [ConnectionPath] {
        let sources = sources.isEmpty ? [nil] : sources.map(Optional.some)
        guard let name else {
            return sources.map { ConnectionPath(route: route, source: $0, connectTimeout: connectTimeout) }
        }
        let all = sources.flatMap { source in
            addresses.map { address in
                let peer = Peer(name: name, address: address)
                return ConnectionPath(route: route, source: source, peer: peer, connectTimeout: connectTimeout)
            }
        }
        let possible = all.filter { path in
            guard let source = path.source, let peer = path.peer else { return true }
            return ResolvedAddress(source).isVersion4 == peer.address.isVersion4
        }
        // If no path is possible, returns the first one. A connection over it fails with the system's reason.
        return possible.isEmpty ? Array(all.prefix(1)) : possible
    }
}

extension Route {
    /// Returns the name to look up before connecting; `nil` for an address.
    ///
    /// - Parameter url: the requested URL.
    func nameToResolve(for url: URL) -> String? {
        let host: String? =
            if case .tunnel(let proxy) = self { proxy.host } else { address(of: url).host }
        guard let host, !host.isEmpty, !host.utf8.contains(UInt8(ascii: ":")), IPAddress(host) == nil else {
            return nil
        }
        return host
    }

    /// Returns the port to connect to: that of the proxy, if there is one.
    func port(for url: URL) -> Int {
        switch self {
        case .direct: Origin(url).port
        case .tunnel(let proxy), .forward(let proxy): proxy.port
        }
    }
}
