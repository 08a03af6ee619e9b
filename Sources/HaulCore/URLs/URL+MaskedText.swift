package import Foundation

extension URL {
    /// Masks a text by another program or by the application, for people and logs. Every URL in the text is masked as
    /// by ``masked``. Secrets of `url` are masked also outside URLs.
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
        let mark = word[start..<end].reversed().prefix { "\"'`<>()[]{},;.".contains($0) }.count
        let last = word.index(end, offsetBy: -mark)
        let text = String(word[start..<last])
        let shown = URL(string: text).flatMap { $0.host == nil ? nil : $0.masked } ?? maskedWithoutHost(text)
        return word[..<start] + shown + word[last..<end] + (end < word.endIndex ? maskedWord(word[end...]) : "")
    }
}
