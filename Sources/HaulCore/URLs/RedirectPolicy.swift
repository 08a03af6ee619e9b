package import Foundation

/// Applies the rules for redirects (RFC 9110 §15.4), one redirect at a time.
package struct RedirectPolicy: Sendable, Equatable {
    package static let most = 10
    /// Largest number of requests for one URL. A server that sheds load or sets a cookie redirects to the same URL, and
    /// serves a second or third request.
    static let mostVisits = 5
    package private(set) var url: URL
    /// Path and query of the request line; `nil` if they follow from `url`.
    package private(set) var target: String?
    /// Whether the user's header fields go to the present URL. After a change of the origin they are never sent again.
    package private(set) var carriesUserHeaders = true
    /// Whether the request keeps its method; `false` once the request has become a GET.
    package private(set) var keepsMethod = true
    private let hasBody: Bool
    private let allowsInsecure: Bool
    private var visited: [URL]

    /// - Parameter hasBody: whether the request is a POST.
    package init(_ url: URL, target: String? = nil, allowsInsecure: Bool, hasBody: Bool = false) {
        self.hasBody = hasBody
        self.url = url
        self.target = target
        self.allowsInsecure = allowsInsecure
        visited = [url]
    }

    package static func isRedirect(status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    package mutating func follow(location: String, status: Int = 302) throws(TransportError) {
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
            // Fails, because the user's body is for one origin only and the request is useless without its body.
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
