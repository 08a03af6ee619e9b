internal import Foundation

/// The proxies for `http` and `https` URLs.
///
/// ``environment(_:)`` reads the variables that curl and wget read: `http_proxy` (lower case only: a CGI server puts a
/// request's `Proxy` header into `HTTP_PROXY`), `https_proxy`, `all_proxy` and `no_proxy` in either case.
public struct ProxySettings: Sendable, Hashable {
    /// A proxy server: HTTP (with CONNECT for https, RFC 9110 §9.3.6) or SOCKS5 (RFC 1928).
    package struct Proxy: Sendable, Hashable, CustomStringConvertible {
        /// The protocol of a proxy. In a setting, `socks5h` and `socks` also mean `socks5`.
        package enum Kind: String, Sendable, Hashable { case http, socks5 }
        /// ``Kind/http`` if the setting names no scheme.
        package let kind: Kind
        /// Host name or address of the proxy.
        package let host: String
        /// Port of the proxy; 8080 for HTTP and 1080 for SOCKS5 when the setting names none.
        package let port: Int
        /// `user:password`, for HTTP proxies; `nil` for none.
        package let credentials: String?

        /// Kind, host and port, without the credentials.
        package var description: String { "\(kind.rawValue)://\(host):\(port)" }

        /// Reads `[http://|socks5://|socks5h://][user:password@]host[:port]`.
        ///
        /// - Throws: ``DownloadError`` with code ``DownloadError/Code/proxyFailed`` for another scheme, a missing host,
        ///   a port that does not exist, or a user name for a SOCKS proxy, which Haul cannot send.
        package init(_ text: String) throws(DownloadError) {
            let full = text.contains("://") ? text : "http://" + text
            guard let parts = URLComponents(string: full), let host = parts.host, !host.isEmpty else {
                throw DownloadError(
                    .proxyFailed,
                    "The proxy setting is not of the form http://host:port or socks5://host:port."
                )
            }
            switch parts.scheme?.lowercased() {
            case "http": kind = .http
            case "socks5", "socks5h", "socks": kind = .socks5
            default:
                throw DownloadError(
                    .proxyFailed,
                    "Haul speaks to http:// and socks5:// proxies, not to \(parts.scheme ?? "")://."
                )
            }
            if kind == .socks5, parts.user != nil {
                throw DownloadError(
                    .proxyFailed,
                    "Haul cannot log in to a SOCKS proxy; remove the user name from its setting."
                )
            }
            self.host = host
            port = parts.port ?? (kind == .http ? 8080 : 1080)
            guard (1...65535).contains(port) else {
                throw DownloadError(.proxyFailed, "The proxy setting names a port that does not exist.")
            }
            credentials = parts.user.map { "\($0):\(parts.password ?? "")" }
        }
    }

    /// The proxy for `http` URLs; `nil` to connect directly.
    package var http: Proxy?
    /// The proxy for `https` URLs; `nil` to connect directly.
    package var https: Proxy?
    /// Hosts to connect to directly: names (which include their subdomains), addresses, blocks of addresses such as
    /// `10.0.0.0/8`, or `*` for all. Each may have a port; an IPv6 address with a port is in brackets.
    package var exceptions: [String]

    /// Proxies for single origins, which count before everything else; `nil` to connect to an origin directly.
    package var origins: [Origin: Proxy?] = [:]

    /// No proxies.
    package static let direct = ProxySettings(http: nil, https: nil, exceptions: [])

    /// Makes settings from a proxy for each scheme; `nil` to connect directly.
    package init(http: Proxy?, https: Proxy?, exceptions: [String]) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// One proxy for all URLs.
    package init(_ proxy: Proxy) { self.init(http: proxy, https: proxy, exceptions: []) }

    /// Makes settings of one proxy for all URLs. For a proxy for each scheme, see ``environment(_:)``.
    ///
    /// - Parameters:
    ///   - text: `[http://|socks5://|socks5h://][user:password@]host[:port]`.
    ///   - exceptions: hosts to connect to directly: names (which include their subdomains), addresses, blocks of
    ///     addresses such as `10.0.0.0/8`, or `*` for all. Each may have a port; an IPv6 address with a port is in
    ///     brackets.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/proxyFailed`` for another scheme, a missing host, a
    ///   port that does not exist, or a user name for a SOCKS proxy, which Haul cannot send.
    public init(url text: String, exceptions: [String] = []) throws(DownloadError) {
        let proxy = try Proxy(text)
        self.init(http: proxy, https: proxy, exceptions: exceptions.map { $0.lowercased() })
    }

    /// Reads the proxy variables of an environment.
    ///
    /// - Throws: as ``init(url:exceptions:)``.
    public static func environment(_ variables: [String: String]) throws(DownloadError) -> ProxySettings {
        func proxy(_ names: [String]) throws(DownloadError) -> Proxy? {
            for name in names {
                if let text = variables[name], !text.isEmpty { return try Proxy(text) }
            }
            return nil
        }
        let exceptions = (variables["no_proxy"] ?? variables["NO_PROXY"] ?? "")
            .split { $0 == "," || $0 == " " }.map { $0.lowercased() }
        return ProxySettings(
            http: try proxy(["http_proxy", "all_proxy", "ALL_PROXY"]),
            https: try proxy(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            exceptions: exceptions
        )
    }

    func proxy(for url: URL) -> Proxy? {
        if !origins.isEmpty, let own = origins[Origin(url)] { return own }
        let host = (url.host ?? "").lowercased()
        if exceptions.contains(where: { Self.matches($0, host: host, port: Origin(url).port) }) { return nil }
        return url.scheme?.lowercased() == "https" ? https : http
    }

    private static func matches(_ exception: String, host: String, port: Int) -> Bool {
        var name = exception[...]
        var wanted = ""[...]
        if name.hasPrefix("["), let end = name.firstIndex(of: "]") {
            wanted = name[name.index(after: end)...]
            name = name[..<end].dropFirst()
        } else if name.count(where: { $0 == ":" }) == 1, let colon = name.firstIndex(of: ":") {
            (wanted, name) = (name[colon...], name[..<colon])
        }
        guard wanted.isEmpty || wanted.first == ":" && Int(wanted.dropFirst()) == port else { return false }
        if name == "*" { return true }
        if let address = IPAddress(host) { return AddressBlock(String(name))?.contains(address) ?? false }
        if name.hasPrefix("*") { name = name.dropFirst() }
        if name.hasPrefix(".") { name = name.dropFirst() }
        return !name.isEmpty && (host == name || host.hasSuffix("." + name))
    }
}
