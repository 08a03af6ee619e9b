package import Foundation

/// Parses the values of a source in Metalink documents and `Link` fields.
extension Metalink.Source {
    /// - Parameter base: base URL of relative references. With `nil` only absolute URLs are accepted.
    /// - Returns: `nil` unless the text is a usable `http` or `https` URL of at most 8,192 bytes.
    package static func url(_ text: String, relativeTo base: URL? = nil) -> HTTPURL? {
        guard text.utf8.count <= 8192 else { return nil }
        guard let base else { return HTTPURL(text) }
        return HTTPURL(base).flatMap { HTTPURL(text, relativeTo: $0) }
    }

    /// - Returns: `nil` unless the text is a number from 1 to ``lowestPriority`` (RFC 5854 §4.2.16.1, RFC 6249 §3.1).
    package static func priority(_ text: String) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let priority = Int(text),
            (1...lowestPriority).contains(priority)
        else { return nil }
        return priority
    }

    /// - Returns: two lower-case letters, or `nil` for any other text.
    package static func location(_ text: String) -> String? {
        let code = text.lowercased()
        return code.utf8.count == 2 && code.utf8.allSatisfy { (0x61...0x7A).contains($0) } ? code : nil
    }
}
