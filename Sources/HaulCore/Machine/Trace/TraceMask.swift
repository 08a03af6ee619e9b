package import Foundation

/// Replaces the parts of URLs that may be secrets by numbers: user info, values of the query, and the fragment. Equal
/// values get equal numbers, so that a machine makes the same decisions with masked URLs.
///
/// The scheme, the host, the port, the path and the names in the query stay.
package struct TraceMask {

    package init() {}
    private var numbers: [String: Int] = [:]

    /// Returns `*1`, `*2` and so on, in characters that every part of a URL may contain.
    private mutating func mask(_ value: some StringProtocol) -> String {
        let value = String(value)
        let number = numbers[value] ?? numbers.count + 1
        numbers[value] = number
        return "*\(number)"
    }

    package mutating func masked(_ url: URL) -> URL {
        let text = url.absoluteURL.absoluteString
        // Falls back to the URL without its secret parts if the masked text is not a URL.
        return URL(string: maskedText(text)) ?? url.place
    }

    /// Masks a request target: path and query as they are sent.
    package mutating func masked(target: String) -> String {
        let parts = Self.cut(target, at: "#")
        let (path, query) = Self.cut(parts.0, at: "?")
        return path + (query.map { "?" + maskedQuery($0) } ?? "") + (parts.1.map { "#" + mask($0) } ?? "")
    }

    private mutating func maskedText(_ text: String) -> String {
        guard let scheme = text.range(of: "://"), Self.isScheme(text[..<scheme.lowerBound]) else {
            // A placeholder URL contains the application's name for the download.
            let (scheme, name) = Self.cut(text[...], at: ":")
            return scheme + ":" + (name.map { mask($0) } ?? "")
        }
        let rest = text[scheme.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let authority = rest[..<end]
        var host = String(authority)
        if let at = authority.lastIndex(of: "@") {
            host = mask(authority[..<at]) + authority[at...]
        }
        return text[..<scheme.upperBound] + host + masked(target: String(rest[end...]))
    }

    private static func isScheme(_ text: Substring) -> Bool {
        // RFC 3986 §3.1.
        text != DownloadRequest.placeholderScheme
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    private mutating func maskedQuery(_ query: String) -> String {
        query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            guard !part.isEmpty else { return "" }
            let (name, value) = Self.cut(part, at: "=")
            // Masks the whole part if its name may be a token: if there is no value, if the value is only the padding
            // of Base64, or if the name is longer than `longestName`.
            guard let value, !value.allSatisfy({ $0 == "=" }), name.utf8.count <= Self.longestName else {
                return mask(part)
            }
            return name + "=" + mask(value)
        }.joined(separator: "&")
    }

    private static let longestName = 32

    private static func cut(_ text: some StringProtocol, at separator: Character) -> (String, String?) {
        guard let index = text.firstIndex(of: separator) else { return (String(text), nil) }
        return (String(text[..<index]), String(text[text.index(after: index)...]))
    }
}
