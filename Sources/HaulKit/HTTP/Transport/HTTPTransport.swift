internal import AsyncHTTPClient
internal import Foundation
internal import NIOSSL
internal import Synchronization

/// HTTP/1.1 over AsyncHTTPClient's delegate interface, where body bytes stay on their event loop.
final class HTTPTransport: SourceReading {
    struct Options: Sendable {
        var connectTimeout = Downloader.Configuration.Connections().connectTimeout
        /// Longest silence before the head and within the body. Time in which Haul holds the server back does not
        /// count.
        var stallTimeout = Downloader.Configuration.Connections().stallTimeout
        var proxies = ProxySettings.direct
        var netrc: Netrc?
        var userAgent = Downloader.Configuration.Network().userAgent
        /// Provides the local addresses of connections; see ``NetworkBinding``.
        var binding: NetworkBinding?
        /// Servers at these addresses are refused. Proxies and webhooks are exempt, because the user has set them.
        var deniedAddresses: [AddressBlock] = []
        /// Decides when a request may be sent, in addition to the limits of the downloader; `nil` if only those apply.
        var admission: (any RequestAdmission)?
        var idleTimeout = Downloader.Configuration.Network().idleTimeout
        /// Whether file descriptors are so scarce that idle connections are closed soon.
        var isTight = false
        let authenticator = SharedAuthentications()
        var names = NameResolver()

        /// Takes over the settings that apply to requests sent after a change.
        mutating func take(_ configuration: Downloader.Configuration) {
            connectTimeout = configuration.connections.connectTimeout
            stallTimeout = configuration.connections.stallTimeout
            proxies = configuration.network.proxies
            netrc = configuration.network.netrc
            userAgent = configuration.network.userAgent
            binding = configuration.network.binding
            deniedAddresses = configuration.network.deniedAddresses
        }
    }

    let schemes = HTTPURL.schemes
    private let present: Mutex<Options>
    /// The options of future requests.
    var options: Options { present.withLock { $0 } }
    let clients: HTTPClients

    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/tlsFailed`` when the file of certificates cannot be
    ///   read.
    init(_ options: Options, certificateAuthorities: String? = nil) throws(DownloadError) {
        present = Mutex(options)
        var tls = TLSConfiguration.makeClientConfiguration()
        // RFC 8996 §2 forbids older versions.
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
        clients = HTTPClients { [tls] path in HTTPClient.Configuration(path, options, tls) }
    }

    /// - Throws: as ``init(_:certificateAuthorities:)``.
    convenience init(_ configuration: Downloader.Configuration, isTight: Bool) throws(DownloadError) {
        var options = Options(
            admission: configuration.network.admission,
            idleTimeout: configuration.network.idleTimeout,
            isTight: isTight,
            names: NameResolver(limits: isTight ? .tight : .init())
        )
        options.take(configuration)
        try self.init(options, certificateAuthorities: configuration.network.certificateAuthorities)
    }

    func check(_ url: URL) throws(DownloadError) { try HTTPURL.check(url) }

    func take(_ configuration: Downloader.Configuration) { present.withLock { $0.take(configuration) } }

    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let exchange = HTTPExchange(request, options, receiver)
        exchange.start(clients)
        return exchange
    }

    func shutDown() async {
        options.names.cancelAll()
        await clients.shutDown()
    }
}
