/// How an exchange with a server failed, in the kinds that retrying tells apart.
package struct TransportError: Error, Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// The URL cannot be asked at all: no host, a scheme that is not HTTP.
        case invalidURL
        /// The interface or local address to connect from is not there; the detail is a sentence.
        case bindingFailed
        /// The server is at an address that no connection may be made to; the detail names it.
        case addressDenied
        case nameNotResolved, connectionRefused, connectionFailed
        /// The process may have no further socket.
        case tooManyOpenFiles
        case connectTimeout, responseTimeout, stalled
        /// The connection ended before the body did.
        case connectionLost
        /// A certificate that is not trusted or not for this host; a handshake that broke off is `connectionLost`.
        case tlsRefused
        /// The proxy could not do what it was asked now; the detail says why.
        case proxyFailed
        /// The proxy will not do it, however often it is asked.
        case proxyRefused
        case tooManyRedirects, insecureRedirect, badRedirect
        /// What came is not HTTP, or more header than any server needs.
        case malformedResponse
    }

    let kind: Kind
    let detail: String
    /// What the transport itself calls the failure, which is final then; nil where the kind says it.
    let report: DownloadError?
    /// The host that redirects led to, and that it failed at; nil where it is the one of the request.
    private(set) var host: String?
    /// The proxy that failed, as ``ProxySettings/Proxy/description`` names it; nil where it is not a proxy's failure.
    private(set) var proxy: String?

    package init(_ kind: Kind, _ detail: String = "") {
        self.kind = kind
        self.detail = detail
        report = nil
    }

    /// A failure with an error of the transport's own: the download ends with it, and nothing is retried.
    package init(reporting error: DownloadError) {
        kind = .connectionFailed
        detail = ""
        report = error
    }

    /// The same failure of a proxy, before it has reached a server.
    func of(_ proxy: ProxySettings.Proxy) -> TransportError {
        var error = self
        error.proxy = proxy.description
        return error
    }

    /// Whether a host that has as many connections as it allows fails a further one like this.
    var mayBeOfLimit: Bool {
        guard report == nil, host == nil, proxy == nil else { return false }
        return switch kind {
        case .connectionRefused, .connectionLost, .malformedResponse, .connectTimeout, .responseTimeout: true
        default: false
        }
    }

    /// The same failure of another host than the request's, which redirects led to.
    func at(_ host: String?) -> TransportError {
        var error = self
        error.host = host
        return error
    }
}
