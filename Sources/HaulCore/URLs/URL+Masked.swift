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

    /// Cuts a text that comes from outside Haul to 300 Unicode scalars, so that a message can hold it.
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

extension URL {
    /// Masks a text that another program or the application wrote, for people and logs. Every URL in the text is masked
    /// as by ``masked``. Secrets of `url` are masked also outside URLs.
    ///
    /// - Parameter url: a URL whose secrets the author of the text knows.
    package static func maskedText(_ text: String, knowing url: URL?) -> String {
        var text = text
        if let url {
            text = text.replacingOccurrences(of: url.absoluteString, with: url.masked)
            for secret in url.secrets { text = text.replacingOccurrences(of: secret, with: "***") }
        }
        var masked = ""
        var rest = text[...]
        while let start = rest.firstIndex(where: { !$0.isWhitespace }) {
            let end = rest[start...].firstIndex(where: \.isWhitespace) ?? rest.endIndex
            masked += rest[..<start] + maskedWord(rest[start..<end])
            rest = rest[end...]
        }
        return masked + rest
    }

    /// User info, query and the values in the query, encoded and decoded, the longest first. Texts of fewer than four
    /// characters are masked only within the URL, because they occur in many words.
    private var secrets: [String] {
        guard let parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return [] }
        let query = parts.percentEncodedQuery ?? ""
        let values = query.split(separator: "&").compactMap { item in
            item.firstIndex(of: "=").map { String(item[item.index(after: $0)...]) }
        }
        let encoded = [parts.percentEncodedUser ?? "", parts.percentEncodedPassword ?? "", query] + values
        let all = Set(encoded + encoded.compactMap(\.removingPercentEncoding))
        return all.filter { $0.count >= 4 }.sorted { ($1.count, $0) < ($0.count, $1) }
    }

    /// Masks the URLs in a word. A word may contain several URLs, with brackets or quotes around them.
    private static func maskedWord(_ word: Substring) -> String {
        guard let colon = word.range(of: "://") else { return String(word) }
        let scheme = word[..<colon.lowerBound].reversed().prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }.count
        let start = word.index(colon.lowerBound, offsetBy: -scheme)
        // The next URL begins with the scheme before the next `://`.
        var end = word.endIndex
        if let next = word[colon.upperBound...].range(of: "://") {
            let scheme = word[colon.upperBound..<next.lowerBound].reversed()
                .prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }.count
            end = word.index(next.lowerBound, offsetBy: -scheme)
        }
        let mark = word[start..<end].reversed().prefix { "\"'`<>()[]{},;.:“”‘’«»".contains($0) }.count
        let last = word.index(end, offsetBy: -mark)
        let text = String(word[start..<last])
        let shown = URL(string: text).flatMap { $0.host == nil ? nil : $0.masked } ?? maskedWithoutHost(text)
        return word[..<start] + shown + word[last..<end] + (end < word.endIndex ? maskedWord(word[end...]) : "")
    }
}
