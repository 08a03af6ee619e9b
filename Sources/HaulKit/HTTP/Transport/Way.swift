internal import Foundation

/// What the client library takes at birth: how a server is reached, from which address, and at which.
struct Way: Sendable, Hashable {
    /// The host that a connection is made to, a proxy where there is one, and the address to use of those that its name stands for.
    struct Peer: Sendable, Hashable {
        let name: String
        let address: ResolvedAddress
    }

    var route: Route
    /// The address to connect from; nil for whichever the system takes.
    var source: String?
    /// Nil where no name has to be looked up.
    var peer: Peer?
    /// The longest that making a connection may take.
    var connectTimeout: Duration

    /// The ways to a host, in the order in which they are tried.
    ///
    /// - Parameters:
    ///   - sources: addresses to connect from; none for whichever the system takes.
    ///   - name: nil where no name has to be looked up.
    static func all(
        _ route: Route,
        from sources: [String],
        to name: String?,
        _ addresses: [ResolvedAddress],
        within connectTimeout: Duration
    ) -> [Way] {
        let sources = sources.isEmpty ? [nil] : sources.map(Optional.some)
        guard let name else { return sources.map { Way(route: route, source: $0, connectTimeout: connectTimeout) } }
        let all = sources.flatMap { source in
            addresses.map { address in
                let peer = Peer(name: name, address: address)
                return Way(route: route, source: source, peer: peer, connectTimeout: connectTimeout)
            }
        }
        let possible = all.filter { way in
            guard let source = way.source, let peer = way.peer else { return true }
            return ResolvedAddress(source).isVersion4 == peer.address.isVersion4
        }
        // One that cannot be: the system says why.
        return possible.isEmpty ? Array(all.prefix(1)) : possible
    }
}

extension Route {
    /// The name that has to be looked up to connect; nil where an address stands in its place.
    ///
    /// - Parameter url: what is asked for.
    func nameToResolve(for url: URL) -> String? {
        let host: String? =
            if case .tunnel(let proxy) = self { proxy.host } else { address(of: url).host }
        guard let host, !host.isEmpty, !host.utf8.contains(UInt8(ascii: ":")), IPAddress(host) == nil else {
            return nil
        }
        return host
    }

    /// The port that is connected to.
    func port(for url: URL) -> Int {
        switch self {
        case .direct: Origin(url).port
        case .tunnel(let proxy), .forward(let proxy): proxy.port
        }
    }
}
