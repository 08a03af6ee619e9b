package import Foundation

extension URL {
    /// The URL without query, fragment and user info, which may be secrets.
    package var place: URL {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
        (parts.query, parts.fragment, parts.user, parts.password) = (nil, nil, nil, nil)
        return parts.url ?? self
    }

    /// Whether `other` has the same scheme, host, port and path. The query may differ, for example in a signature.
    func isSamePlace(as other: URL) -> Bool {
        Origin(self) == Origin(other) && path(percentEncoded: true) == other.path(percentEncoded: true)
    }
}
