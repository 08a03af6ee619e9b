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
    /// The request is still what it was; otherwise it has become a GET, for good.
    private(set) var keepsMethod = true
    private let hasBody: Bool
    private let allowsInsecure: Bool
    private var visited: [URL]

    /// - Parameter hasBody: the request is no GET.
    init(_ url: URL, target: String? = nil, allowsInsecure: Bool, hasBody: Bool = false) {
        self.hasBody = hasBody
        self.url = url
        self.target = target
        self.allowsInsecure = allowsInsecure
        visited = [url]
    }

    static func isRedirect(status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    mutating func follow(location: String, status: Int = 302) throws(TransportError) {
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
        if hasBody, keepsMethod {
            keepsMethod = status == 307 || status == 308
            // What the user says to one origin is not for another to hear, and without it the request means nothing.
            if keepsMethod, Origin(target) != Origin(url) {
                throw TransportError(reporting: .isRedirectedPost(to: Origin(target).text, status))
            }
        }
        if Origin(target) != Origin(url) { carriesUserHeaders = false }
        visited.append(target)
        (url, self.target) = (target, found.spelling)
    }
}

extension DownloadError {
    fileprivate static func isRedirectedPost(to origin: String, _ status: Int) -> DownloadError {
        DownloadError(
            .refusedByServer,
            "The server redirects the POST to \(URL.cut(origin)), another origin, which does not get its body.",
            status: status
        )
    }
}
