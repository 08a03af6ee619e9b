internal import NIOCore
internal import NIOPosix

/// Finds which address of a host accepts a connection first (RFC 8305).
///
/// The HTTP client gets one address. The race makes bare connections to the addresses of the host, and closes them as
/// soon as one of them is made. So a network with broken IPv6 delays a request only for a moment. A request of a
/// download starts the race if it has no connection after ``delay``. A webhook starts the race before its request,
/// unless an address of the host has served a connection already.
enum AddressRace {
    /// The Connection Attempt Delay of RFC 8305 §5.
    static let delay: Duration = .milliseconds(250)

    /// - Returns: `nil` if no address accepts a connection in time.
    static func winner(
        of addresses: [ResolvedAddress],
        port: Int,
        from source: String?,
        within limit: Duration
    ) -> EventLoopFuture<ResolvedAddress?> {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let resolver = KnownAddresses(addresses, loop)
        do {
            var bootstrap = ClientBootstrap(group: loop).resolver(resolver).connectTimeout(TimeAmount(limit))
            if let source { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0)) }
            return bootstrap.connect(host: "race.invalid", port: port)
                .map { channel -> ResolvedAddress? in
                    let winner = channel.remoteAddress?.ipAddress
                    channel.close(promise: nil)
                    return addresses.first { $0.text == winner }
                }
                .recover { _ in nil }
        } catch { return loop.makeSucceededFuture(nil) }
    }

    /// A SwiftNIO resolver that returns known addresses, except those with a zone.
    private final class KnownAddresses: Resolver, Sendable {
        private let addresses: [ResolvedAddress]
        private let loop: any EventLoop

        init(_ addresses: [ResolvedAddress], _ loop: any EventLoop) {
            self.addresses = addresses.filter { !$0.hasZone }
            self.loop = loop
        }

        func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            answer(isVersion4: true, port)
        }
        func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            answer(isVersion4: false, port)
        }
        func cancelQueries() {}

        private func answer(isVersion4: Bool, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
            do {
                return loop.makeSucceededFuture(
                    try addresses.filter { $0.isVersion4 == isVersion4 }
                        .map { try SocketAddress(ipAddress: $0.text, port: port) }
                )
            } catch { return loop.makeFailedFuture(error) }
        }
    }
}
