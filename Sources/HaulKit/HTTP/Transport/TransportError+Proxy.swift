internal import AsyncHTTPClient
internal import NIOSOCKS
internal import NIOSSL

/// Distinguishes failures of proxies from those of the servers behind them.
extension TransportError {
    /// Returns this failure as a failure of the proxy, which happened before the proxy reached the server.
    func of(_ proxy: ProxySettings.Proxy) -> TransportError {
        var error = self
        error.proxy = proxy.description
        return error
    }

    /// Converts an error of the client for a request over `path`.
    ///
    /// - Parameter isConnected: whether the connection was made.
    init(_ error: any Error, over path: ConnectionPath, isConnected: Bool) {
        self.init(error, from: path.source)
        guard let proxy = path.route.proxy else { return }
        let failure = Self.socksFailure(error) ?? handshakeFailure(error, path.route, isConnected)
        if let failure { self = failure.of(proxy) }
    }

    /// Failure of a proxy that requires credentials, or refuses the credentials of its setting (407).
    static func isNotLetIn(by proxy: ProxySettings.Proxy) -> TransportError {
        TransportError(
            .proxyRefused,
            proxy.credentials == nil
                ? "it requires a user name and a password" : "it refused the user name and the password of its setting"
        ).of(proxy)
    }

    /// Returns the failure if it happened before the proxy made its connection; `nil` if it happened later, or if that
    /// is unknown.
    private func handshakeFailure(_ error: any Error, _ route: Route, _ isConnected: Bool) -> TransportError? {
        if let proxy = route.proxy, (error as? HTTPClientError) == .proxyAuthenticationRequired {
            return .isNotLetIn(by: proxy)
        }
        // This is the TLS handshake with the server, through the proxy, so the proxy has not failed.
        if (error as? HTTPClientError) == .tlsHandshakeTimeout { return nil }
        switch (kind, route) {
        case (.nameNotResolved, _), (.connectionRefused, _), (.connectionFailed, _), (.connectTimeout, _),
            (.proxyRefused, _):
            return self
        // The proxy got the request itself, so a malformed answer is the proxy's own.
        case (.malformedResponse, .forward): return self
        // AsyncHTTPClient closes the connection if CONNECT gets no HTTP answer, and does not report that reason.
        case (.connectionLost, .tunnel(let proxy)) where !isConnected && !Self.isOfTLS(error):
            return TransportError(
                .proxyFailed,
                proxy.kind == .http ? "it closed the connection, or is no HTTP proxy" : "it closed the connection"
            )
        default: return nil
        }
    }

    /// Whether the error belongs to the TLS handshake with the server, through the proxy.
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

    /// Maps the replies of RFC 1928 §6. A failure to reach the server is temporary (`proxyFailed`). A refusal or a
    /// missing feature of the proxy is final (`proxyRefused`).
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
