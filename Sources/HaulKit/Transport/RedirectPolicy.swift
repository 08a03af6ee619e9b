public import Foundation

/// Follows redirects by rule (RFC 9110 §15.4), one step at a time.
struct RedirectPolicy: Sendable, Equatable {
    static let most = 10
    private(set) var url: URL
    /// The user's header fields still go to the present URL. Once the origin has changed they stay off for good.
    private(set) var carriesUserHeaders = true
    private let allowsInsecure: Bool
    private var visited: [URL]

    init(_ url: URL, allowsInsecure: Bool) {
        self.url = url
        self.allowsInsecure = allowsInsecure
        visited = [url]
    }

    static func isRedirect(status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    mutating func follow(location: String) throws(TransportError) {
        guard let target = URL(string: location, relativeTo: url)?.absoluteURL.withoutUserInfo(), target.isAskable
        else { throw TransportError(.badRedirect) }
        if Origin(url).scheme == "https", Origin(target).scheme == "http", !allowsInsecure {
            throw TransportError(.insecureRedirect)
        }
        // A redirect to itself may set a cookie in a browser; without one it can only go round.
        guard visited.count <= Self.most, !visited.contains(target) else { throw TransportError(.tooManyRedirects) }
        if Origin(target) != Origin(url) { carriesUserHeaders = false }
        visited.append(target)
        url = target
    }
}

/// Scheme, host and port: where secrets may go (RFC 6454).
struct Origin: Sendable, Hashable {
    let scheme: String
    let host: String
    let port: Int

    init(_ url: URL) {
        scheme = url.scheme?.lowercased() ?? ""
        host = url.host?.lowercased() ?? ""
        port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    /// `https://files.example:443`.
    var text: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension URL {
    /// Whether a request can be made of it at all. The layers below trap on ports and host names that do not exist.
    var isAskable: Bool {
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https", let host else { return false }
        return (1...253).contains(host.utf8.count) && (1...65535).contains(port ?? 80)
    }

    func withoutUserInfo() -> URL {
        guard user != nil || password != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
            return self
        }
        parts.user = nil
        parts.password = nil
        return parts.url ?? self
    }

    /// For people and logs: user info and query string replaced by `***`, since either may be a secret.
    public var masked: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "(unreadable URL)" }
        if parts.user != nil || parts.password != nil {
            parts.user = "***"
            parts.password = nil
        }
        parts.fragment = nil
        let hasQuery = parts.query != nil
        parts.query = nil
        return (parts.string ?? "(unreadable URL)") + (hasQuery ? "?***" : "")
    }
}
