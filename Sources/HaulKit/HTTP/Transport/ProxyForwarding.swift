internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// How a request reaches its server.
enum Route: Sendable, Hashable {
    case direct
    /// Over a connection that the proxy makes and then only relays: for https, and with SOCKS.
    case tunnel(ProxySettings.Proxy)
    /// The proxy gets the request itself, in absolute form (RFC 9112 §3.2.2): for http. Many proxies allow tunnels to
    /// port 443 only.
    case forward(ProxySettings.Proxy)

    init(to url: URL, _ settings: ProxySettings) {
        guard let proxy = settings.proxy(for: url) else {
            self = .direct
            return
        }
        self = proxy.kind == .http && Origin(url).scheme == "http" ? .forward(proxy) : .tunnel(proxy)
    }

    /// The proxy that gets the request or makes the connection; `nil` without a proxy.
    var proxy: ProxySettings.Proxy? {
        switch self {
        case .direct: nil
        case .tunnel(let proxy), .forward(let proxy): proxy
        }
    }

    /// Returns the URL for the HTTP client. If the proxy gets the request itself, the URL has the host and the port of
    /// the proxy.
    func address(of url: URL) -> URL {
        guard case .forward(let proxy) = self, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return url
        }
        parts.host = proxy.host
        parts.port = proxy.port
        return parts.url ?? url
    }

    /// Adds the request target and the fields that depend on the recipient. The `Host` field names the server, also if
    /// a proxy gets the request.
    func add(to headers: inout HTTPHeaders, for address: HTTPURL) {
        let host = HTTPHost.field(address.url)
        guard case .forward(let proxy) = self else {
            RequestTargetHandler.set(address.target, in: &headers)
            if !headers.contains(name: "Host") { headers.add(name: "Host", value: host) }
            return
        }
        RequestTargetHandler.set("http://" + host + address.target, in: &headers)
        headers.replaceOrAdd(name: "Host", value: host)
        if let credentials = proxy.credentials {
            headers.add(
                name: "Proxy-Authorization",
                value: "Basic " + Data(credentials.utf8).base64EncodedString()
            )
        }
    }
}
