package import Foundation

/// What a server learns of the page that led to it, by the policy `strict-origin-when-cross-origin`, which browsers
/// have by default.
package enum RefererPolicy {
    /// Returns the value of `Referer` for a request to another server than the one that the user gave it for.
    ///
    /// - Returns: the URL of the page without user info and fragment for its own origin, else its origin; `nil` if
    ///   `page` is no web page, or is on https and the request is not.
    package static func value(_ page: String, for url: URL) -> String? {
        guard let page = URL(string: page), let scheme = page.scheme?.lowercased(), HTTPURL.schemes.contains(scheme),
            page.host?.isEmpty == false, var parts = URLComponents(url: page, resolvingAgainstBaseURL: false)
        else { return nil }
        let target = Origin(url)
        guard scheme == "http" || target.scheme == "https" else { return nil }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        if Origin(page) != target { (parts.path, parts.query) = ("/", nil) }
        return parts.string
    }
}
