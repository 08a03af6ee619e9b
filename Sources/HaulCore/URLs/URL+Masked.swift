public import Foundation

extension URL {
    /// The URL for people and logs: user info and query, which may be secrets, are replaced by `***`, and the fragment
    /// is removed.
    public var masked: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "(unreadable URL)" }
        // Without a host, `URLComponents` finds no user info, as in `user:password@host/file`, which has no scheme.
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

    /// ``masked``, cut to the length that a message can hold.
    package var messageText: String { Self.cut(masked) }

    /// Cuts a text from outside to 300 characters, the most that a message can hold.
    package static func cut(_ text: String) -> String {
        guard
            let end = text.unicodeScalars.index(
                text.startIndex,
                offsetBy: mostCharacters,
                limitedBy: text.endIndex
            ), end < text.endIndex
        else { return text }
        return String(text.unicodeScalars[..<end]) + "…"
    }

    private static let mostCharacters = 300

    /// Masks a text that is meant to be a URL but has no host. Text before an `@` may be a password, a query may be a
    /// token.
    package static func maskedWithoutHost(_ text: String) -> String {
        let scheme = text.range(of: "://").map { String(text[..<$0.upperBound]) } ?? ""
        let rest = text.dropFirst(scheme.count)
        let query = rest.firstIndex { $0 == "?" || $0 == "#" } ?? rest.endIndex
        let hidden = ["@", "%40"].compactMap { rest.range(of: $0, options: .backwards)?.upperBound }.max()
        let isCut = query < rest.endIndex
        guard let hidden else { return scheme + rest[..<query] + (isCut ? "?***" : "") }
        // A password may contain the `?` or `#` that begins a query or fragment.
        guard hidden <= query else { return scheme + "***" }
        return scheme + "***@" + rest[hidden..<query] + (isCut ? "?***" : "")
    }
}
