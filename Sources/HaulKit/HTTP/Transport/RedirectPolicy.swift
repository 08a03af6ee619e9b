public import Foundation

/// Follows redirects by rule (RFC 9110 §15.4), one step at a time.
struct RedirectPolicy: Sendable, Equatable {
    static let most = 10
    /// Times that one URL is asked: a server that sheds load or sets a cookie redirects to the same URL, and a second or third
    /// request is served.
    static let mostVisits = 5
    private(set) var url: URL
    /// What the request line says of it; nil where the URL says it.
    private(set) var target: String?
    /// The user's header fields still go to the present URL. Once the origin has changed they stay off for good.
    private(set) var carriesUserHeaders = true
    private let allowsInsecure: Bool
    private var visited: [URL]

    init(_ url: URL, target: String? = nil, allowsInsecure: Bool) {
        self.url = url
        self.target = target
        self.allowsInsecure = allowsInsecure
        visited = [url]
    }

    static func isRedirect(status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    mutating func follow(location: String) throws(TransportError) {
        guard let found = HTTPURL(location, relativeTo: HTTPURL(url, target: self.target)) else {
            throw TransportError(.badRedirect)
        }
        let target = found.url.withoutUserInfo()
        if Origin(url).scheme == "https", Origin(target).scheme == "http", !allowsInsecure {
            throw TransportError(.insecureRedirect)
        }
        guard visited.count <= Self.most, visited.count(where: { $0 == target }) < Self.mostVisits else {
            throw TransportError(.tooManyRedirects)
        }
        if Origin(target) != Origin(url) { carriesUserHeaders = false }
        visited.append(target)
        (url, self.target) = (target, found.spelling)
    }
}

/// Scheme, host and port: where secrets may go (RFC 6454).
struct Origin: Sendable, Hashable, Codable {
    let scheme: String
    let host: String
    let port: Int

    init(_ url: URL) {
        scheme = url.scheme?.lowercased() ?? ""
        host = url.host?.lowercased() ?? ""
        port = url.port ?? Self.defaultPort(scheme)
    }

    /// - Parameter scheme: in small letters.
    static func defaultPort(_ scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    /// `https://files.example:443`.
    var text: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension URL {
    /// Whether a request can be made for the URL. The layers below trap on ports and host names that do not exist.
    var isAskable: Bool {
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https", let host else { return false }
        return HTTPHost.isPossible(host) && (1...65535).contains(port ?? 80)
    }

    func withoutUserInfo() -> URL {
        guard user != nil || password != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
            return self
        }
        parts.user = nil
        parts.password = nil
        return parts.url ?? self
    }

    /// `user:password` of its user info (RFC 7617), as bytes, since escapes may stand for text of any encoding.
    var credentials: [UInt8]? {
        guard let user = user(percentEncoded: true) else { return nil }
        let decoded = [user, password(percentEncoded: true) ?? ""].map { text in
            FileName.percentDecoded(Array(text.utf8)[...]) ?? Array(text.utf8)
        }
        return decoded[0] + [UInt8(ascii: ":")] + decoded[1]
    }

    /// The URL for people and logs: user info and query, which may be secrets, are replaced by `***`, and the fragment
    /// is removed.
    public var masked: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "(unreadable URL)" }
        // Without a host no part is known as user info, as in `user:password@host/file`, which has no scheme.
        if parts.host?.isEmpty ?? true { return Self.maskedWithoutHost(absoluteString) }
        if parts.user != nil || parts.password != nil {
            parts.user = "***"
            parts.password = nil
        }
        parts.fragment = nil
        let hasQuery = parts.query != nil
        parts.query = nil
        return (parts.string ?? "(unreadable URL)") + (hasQuery ? "?***" : "")
    }

    /// A text that is meant to be a URL and has no host: what stands before an `@` may be a password, and a query a token.
    package static func maskedWithoutHost(_ text: String) -> String {
        let scheme = text.range(of: "://").map { String(text[..<$0.upperBound]) } ?? ""
        let rest = text.dropFirst(scheme.count)
        let query = rest.firstIndex { $0 == "?" || $0 == "#" } ?? rest.endIndex
        let hidden = ["@", "%40"].compactMap { rest.range(of: $0, options: .backwards)?.upperBound }.max()
        let isCut = query < rest.endIndex
        guard let hidden else { return scheme + rest[..<query] + (isCut ? "?***" : "") }
        // A password may hold the sign that begins a query.
        guard hidden <= query else { return scheme + "***" }
        return scheme + "***@" + rest[hidden..<query] + (isCut ? "?***" : "")
    }
}
