/// The failure of an exchange with a server. The kinds are those that ``RetryClassifier`` tells apart.
package struct TransportError: Error, Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// No request can be made for the URL: it has no host, or a scheme that is not HTTP.
        case invalidURL
        /// The interface or local address to connect from does not exist; `detail` is a sentence.
        case bindingFailed
        /// The settings deny connections to the server's address; `detail` names the address.
        case addressDenied
        case nameNotResolved, connectionRefused, connectionFailed
        /// The process may not open another socket.
        case tooManyOpenFiles
        case connectTimeout, responseTimeout, stalled
        /// The connection ended before the body did.
        case connectionLost
        /// The certificate is not trusted, or not for this host. A handshake that broke off is `connectionLost`.
        case tlsRefused
        /// The proxy could not make the connection now; `detail` says why.
        case proxyFailed
        /// The proxy refuses to make the connection, however often it is asked.
        case proxyRefused
        case tooManyRedirects, insecureRedirect, badRedirect
        /// The response is not HTTP, or its header fields exceed Haul's limits.
        case malformedResponse
    }

    package let kind: Kind
    package let detail: String
    /// The source reader's own error; `nil` if ``kind`` decides. The error ends the download unless ``isReportPassing``
    /// is `true`.
    package let report: DownloadError?
    /// Whether another attempt may succeed in spite of ``report``; `nil` means `false`.
    package private(set) var isReportPassing: Bool?
    /// Delay before the next attempt that the server requested together with ``report``; `nil` if it requested none.
    package private(set) var retryAfter: Duration?
    /// The host that failed, if redirects led to another host than that of the request; `nil` otherwise.
    package private(set) var host: String?
    /// The proxy that failed, as `ProxySettings.Proxy.description` names it; `nil` if no proxy failed.
    package var proxy: String?

    package init(_ kind: Kind, _ detail: String = "") {
        self.kind = kind
        self.detail = detail
        report = nil
    }

    /// Makes a failure that ends the download with `error`, without a retry.
    package init(reporting error: DownloadError) {
        kind = .connectionFailed
        detail = ""
        report = error
    }

    /// Makes a failure that reports `error`, after which another attempt may succeed.
    ///
    /// - Parameter delay: the delay before the next attempt that the server requested; `nil` if it requested none.
    package init(retrying error: DownloadError, after delay: Duration? = nil) {
        self.init(reporting: error)
        isReportPassing = true
        retryAfter = delay
    }

    /// Whether this error may mean that the host refuses a further connection, because its limit of connections is
    /// reached.
    package var mayBeOfLimit: Bool {
        guard report == nil, host == nil, proxy == nil else { return false }
        return switch kind {
        case .connectionRefused, .connectionLost, .malformedResponse, .connectTimeout, .responseTimeout: true
        default: false
        }
    }

    /// Returns this failure with the host that failed, to which redirects led. Pass `nil` if the host of the request
    /// failed.
    package func at(_ host: String?) -> TransportError {
        var error = self
        error.host = host
        return error
    }
}
