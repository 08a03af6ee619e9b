internal import AsyncHTTPClient
internal import NIOSOCKS
internal import NIOSSL

/// Failures of proxies, told apart from those of the servers behind them.
extension TransportError {
    /// Reads what the client throws for a request that goes this way.
    ///
    /// - Parameter isConnected: the connection was made.
    init(_ error: any Error, over way: Way, isConnected: Bool) {
        self.init(error, from: way.source)
        guard let proxy = way.route.proxy else { return }
        let failure = Self.socksFailure(error) ?? handshakeFailure(error, way.route, isConnected)
        if let failure { self = failure.of(proxy) }
    }

    /// It wants credentials, or others (407).
    static func isNotLetIn(by proxy: ProxySettings.Proxy) -> TransportError {
        TransportError(
            .proxyRefused,
            proxy.credentials == nil
                ? "it requires a user name and a password" : "it refused the user name and the password of its setting"
        ).of(proxy)
    }

    /// What went wrong before the proxy had made its connection; nil where it was made, or where that cannot be known.
    private func handshakeFailure(_ error: any Error, _ route: Route, _ isConnected: Bool) -> TransportError? {
        if let proxy = route.proxy, (error as? HTTPClientError) == .proxyAuthenticationRequired {
            return .isNotLetIn(by: proxy)
        }
        // The server's own handshake, through the proxy.
        if (error as? HTTPClientError) == .tlsHandshakeTimeout { return nil }
        switch (kind, route) {
        case (.nameNotResolved, _), (.connectionRefused, _), (.connectionFailed, _), (.connectTimeout, _),
            (.proxyRefused, _):
            return self
        // All that a proxy answers that is asked itself is its own.
        case (.malformedResponse, .forward): return self
        // The library closes the connection to what does not answer CONNECT as HTTP does, and does not say so.
        case (.connectionLost, .tunnel(let proxy)) where !isConnected && !Self.isOfTLS(error):
            return TransportError(
                .proxyFailed,
                proxy.kind == .http ? "it closed the connection, or is no HTTP proxy" : "it closed the connection"
            )
        default: return nil
        }
    }

    /// The server's own handshake, through the proxy.
    private static func isOfTLS(_ error: any Error) -> Bool {
        error is NIOSSLError || error is NIOSSLExtraError || error is BoringSSLError
    }

    private static func socksFailure(_ error: any Error) -> TransportError? {
        switch error {
        case let error as SOCKSError.ConnectionFailed: socksReply(error.reply)
        case is SOCKSError.NoValidAuthenticationMethod, is SOCKSError.InvalidAuthenticationSelection:
            TransportError(.proxyRefused, "it requires a way to log in that Haul does not have")
        case is SOCKSError.InvalidProtocolVersion, is SOCKSError.InvalidReservedByte, is SOCKSError.InvalidAddressType,
            is SOCKSError.UnexpectedRead, is SOCKSError.InvalidClientState:
            TransportError(.proxyRefused, "it does not answer as a SOCKS 5 proxy does")
        default: nil
        }
    }

    /// The replies of RFC 1928 §6. What has to do with the server may pass; what the proxy does not do or allow stays so.
    private static func socksReply(_ reply: SOCKSServerReply) -> TransportError {
        switch reply {
        case .serverFailure: TransportError(.proxyFailed, "it reports a general failure")
        case .notAllowed: TransportError(.proxyRefused, "its rules do not allow the connection")
        case .networkUnreachable: TransportError(.proxyFailed, "it does not reach the network of the server")
        case .hostUnreachable: TransportError(.proxyFailed, "it does not reach the server, or does not know its name")
        case .refused: TransportError(.proxyFailed, "the server refuses connections")
        case .ttlExpired: TransportError(.proxyFailed, "the server did not answer it in time")
        case .commandUnsupported: TransportError(.proxyRefused, "it makes no connections")
        case .addressUnsupported: TransportError(.proxyRefused, "it does not take this kind of address")
        default: TransportError(.proxyFailed, "it reports the failure \(reply.value)")
        }
    }
}
