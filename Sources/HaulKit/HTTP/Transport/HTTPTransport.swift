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
        /// There are so few descriptors that none may lie idle.
        var isTight = false
        let authenticator = Authenticator()
    }

    let schemes = HTTPURL.schemes
    let options: Options
    private let tls: TLSConfiguration
    /// What the library takes at birth.
    struct Way: Sendable, Hashable {
        var route: Route
        /// The address to connect from; nil for whichever the system takes.
        var source: String?
    }
    /// One client a way out.
    private let clients = Mutex<[Way: HTTPClient]>([:])
    private let isShutDown = Atomic<Bool>(false)

    /// - Throws: when the file of certificates cannot be read.
    init(_ options: Options, certificateAuthorities: String? = nil) throws(DownloadError) {
        self.options = options
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
        self.tls = tls
    }

    deinit {
        // A client that is not shut down traps; the callback form keeps it alive until it has ended.
        for client in clients.withLock({ $0.values.map(\.self) }) { client.shutdown { _ in } }
    }

    func check(_ url: URL) throws(DownloadError) { try HTTPURL.check(url) }

    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let exchange = HTTPExchange(request, options, receiver)
        exchange.start { [self] way in client(for: way) }
        return exchange
    }

    func shutDown() async {
        isShutDown.store(true, ordering: .relaxed)
        let all = clients.withLock { clients in
            defer { clients = [:] }
            return clients.values.map(\.self)
        }
        for client in all {
            await withCheckedContinuation { continuation in client.shutdown { _ in continuation.resume() } }
        }
    }

    func client(for way: Way) -> HTTPClient {
        clients.withLock { clients in
            if let client = clients[way] { return client }
            let client = HTTPClient(
                eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
                configuration: configuration(way)
            )
            // A redirect that is answered at this moment: its request fails at once.
            if isShutDown.load(ordering: .relaxed) {
                client.shutdown { _ in }
            } else {
                clients[way] = client
            }
            return client
        }
    }

    private func configuration(_ way: Way) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(options.connectTimeout), read: nil),
            decompression: .disabled
        )
        // One HTTP/2 connection would share one congestion window, and its streams cost several times the CPU.
        configuration.httpVersion = .http1Only
        // A span would say the URL, with whatever secret stands in its query; and each costs as much as a small header.
        configuration.tracing.tracer = nil
        // We count connections ourselves; the library's own limit of 8 a host would only get in the way.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1024
        if options.isTight { configuration.connectionPool.idleTimeout = .milliseconds(500) }
        // We retry ourselves, and tell the user meanwhile.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Bound before connecting. The library has no hook there that would bind the socket to the interface itself.
        configuration.localAddress = way.source
        configuration.http1_1ConnectionDebugInitializer = { channel in
            ResponseDecoder.install(in: channel).flatMap { RequestTargetHandler.add(to: channel) }
        }
        switch way.route {
        case .direct: break
        case .forward: break
        case .tunnel(let proxy) where proxy.kind == .http:
            configuration.proxy = .server(
                host: proxy.host,
                port: proxy.port,
                authorization: proxy.credentials.map { .basic(credentials: Data($0.utf8).base64EncodedString()) }
            )
        case .tunnel(let proxy): configuration.proxy = .socksServer(host: proxy.host, port: proxy.port)
        }
        return configuration
    }
}
