internal import AsyncHTTPClient
internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// HTTP/1.1 over AsyncHTTPClient's delegate interface, where body bytes stay on their event loop.
final class HTTPTransport: SourceReading {
    struct Options: Sendable {
        var connectTimeout: Duration
        /// Longest silence, before the head and within the body. Time in which we hold the server back does not count.
        var stallTimeout: Duration
        var proxies: ProxySettings
        var netrc: Netrc?
        var userAgent: String
        /// Connections have a local address of its; see ``NetworkBinding``.
        var binding: NetworkBinding?
        /// Not those of proxies and webhooks, which the user has set.
        var deniedAddresses: [AddressBlock] = []
        /// Decides beside us when a request may be sent.
        var admission: (any RequestAdmission)?
        var idleTimeout = Downloader.Configuration.Network().idleTimeout
        /// There are so few descriptors that none may lie idle.
        var isTight = false
        let authenticator = Authenticator()
        var names = NameResolver()
    }

    let schemes = HTTPURL.schemes
    private let present: Mutex<Options>
    /// What requests to come are made with.
    var options: Options { present.withLock { $0 } }
    /// One client a way out.
    let clients: HTTPClients

    /// - Throws: when the file of certificates cannot be read.
    init(_ options: Options, certificateAuthorities: String? = nil) throws(DownloadError) {
        present = Mutex(options)
        var tls = TLSConfiguration.makeClientConfiguration()
        // RFC 8996 §2: older versions must not be used.
        tls.minimumTLSVersion = .tlsv12
        if let certificateAuthorities {
            do {
                tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(certificateAuthorities))]
            } catch {
                throw DownloadError(
                    .tlsFailed,
                    "The certificates in \(certificateAuthorities) cannot be read. The file must be in PEM form.",
                    cause: TransportError.plain(error)
                )
            }
        }
        clients = HTTPClients { [tls] way in Self.configuration(way, options, tls) }
    }

    func check(_ url: URL) throws(DownloadError) { try HTTPURL.check(url) }

    func take(_ configuration: Downloader.Configuration) {
        present.withLock { options in
            options.connectTimeout = configuration.connections.connectTimeout
            options.stallTimeout = configuration.connections.stallTimeout
            options.proxies = configuration.network.proxies
            options.netrc = configuration.network.netrc
            options.userAgent = configuration.network.userAgent
            options.binding = configuration.network.binding
            options.deniedAddresses = configuration.network.deniedAddresses
        }
    }

    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let exchange = HTTPExchange(request, options, receiver)
        exchange.start(clients)
        return exchange
    }

    func shutDown() async {
        options.names.cancelAll()
        await clients.shutDown()
    }

    private static func configuration(_ way: Way, _ options: Options, _ tls: TLSConfiguration)
        -> HTTPClient.Configuration
    {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(way.connectTimeout), read: nil),
            decompression: .disabled
        )
        // One HTTP/2 connection would share one congestion window, and its streams cost several times the CPU.
        configuration.httpVersion = .http1Only
        // A span would say the URL, with whatever secret stands in its query; and each costs as much as a small header.
        configuration.tracing.tracer = nil
        // We count connections ourselves; the library's own limit of 8 a host would only get in the way.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1 << 16
        configuration.connectionPool.idleTimeout = TimeAmount(
            options.isTight ? .milliseconds(500) : options.idleTimeout
        )
        // We retry ourselves, and tell the user meanwhile.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Bound before connecting. The library has no hook there that would bind the socket to the interface itself.
        configuration.localAddress = way.source
        configuration.http1_1ConnectionDebugInitializer = { channel in
            ResponseDecoder.install(in: channel).flatMap { RequestTargetHandler.add(to: channel) }
                .flatMap { ReadSizes.set(on: channel) }
        }
        switch way.route {
        case .direct, .forward:
            // The name stays what certificates and the `Host` field are about.
            if let peer = way.peer { configuration.dnsOverride = [peer.name: peer.address.text] }
        case .tunnel(let proxy) where proxy.kind == .http:
            configuration.proxy = .server(
                host: way.peer?.address.text ?? proxy.host,
                port: proxy.port,
                authorization: proxy.credentials.map { .basic(credentials: Data($0.utf8).base64EncodedString()) }
            )
        case .tunnel(let proxy):
            configuration.proxy = .socksServer(host: way.peer?.address.text ?? proxy.host, port: proxy.port)
        }
        return configuration
    }
}
