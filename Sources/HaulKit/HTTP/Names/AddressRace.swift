internal import NIOCore
internal import NIOPosix

/// Which address of a host answers first, where the one that a request was sent to is slow to accept it (RFC 8305).
///
/// The client is given one address. So that a network on which IPv6 leads nowhere costs no more than a moment, bare connections
/// are made to all of them when the request has no connection after ``delay``; they are closed as soon as one is made.
enum AddressRace {
    /// The Connection Attempt Delay of RFC 8305 §5.
    static let delay: Duration = .milliseconds(250)

    /// - Returns: nil where no address accepts a connection in time.
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

    /// Answers with addresses that are known already.
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
