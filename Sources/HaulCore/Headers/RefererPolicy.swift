package import Foundation

/// Computes `Referer` by the policy `strict-origin-when-cross-origin`, the default of browsers.
package enum RefererPolicy {
    /// Returns the value of `Referer` for a request to another URL than the one that the user gave the field for.
    ///
    /// - Returns: the page's URL without user info and fragment if `url` has the same origin, otherwise the page's
    ///   origin; `nil` if `page` is no http or https URL, or is an https URL and `url` is not.
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
