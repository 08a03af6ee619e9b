internal import Foundation

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
