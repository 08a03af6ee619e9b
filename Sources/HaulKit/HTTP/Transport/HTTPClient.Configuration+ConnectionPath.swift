internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOSSL

extension HTTPClient.Configuration {
    /// Makes the configuration of the client for a path.
    init(_ path: ConnectionPath, _ options: HTTPTransport.Options, _ tls: TLSConfiguration) {
        self.init(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(path.connectTimeout), read: nil),
            decompression: .disabled
        )
        // No HTTP/2, because its streams share one congestion window and cost several times the CPU.
        httpVersion = .http1Only
        // No spans, because a span would contain the URL, with any secret in its query. Each span costs as much as a
        // small header.
        tracing.tracer = nil
        // Haul counts connections itself. AsyncHTTPClient's limit of 8 per host would only interfere.
        connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1 << 16
        connectionPool.idleTimeout = TimeAmount(options.isTight ? .milliseconds(500) : options.idleTimeout)
        // Haul makes the further attempts, so that the state of the download shows them.
        connectionPool.retryConnectionEstablishment = false
        // AsyncHTTPClient binds the socket to this address before it connects. It has no hook that could bind the
        // socket to the interface itself.
        localAddress = path.source
        http1_1ConnectionDebugInitializer = { channel in
            ResponseDecoder.install(in: channel).flatMap { RequestTargetHandler.add(to: channel) }
                .flatMap { ReadSizes.set(on: channel) }
        }
        switch path.route {
        case .direct, .forward:
            // Certificates are still checked against the name, and the `Host` field contains it.
            if let peer = path.peer { dnsOverride = [peer.name: peer.address.text] }
        case .tunnel(let proxy) where proxy.kind == .http:
            self.proxy = .server(
                host: path.peer?.address.text ?? proxy.host,
                port: proxy.port,
                authorization: proxy.credentials.map { .basic(credentials: Data($0.utf8).base64EncodedString()) }
            )
        case .tunnel(let proxy):
            self.proxy = .socksServer(host: path.peer?.address.text ?? proxy.host, port: proxy.port)
        }
    }
}
