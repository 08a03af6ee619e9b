package import Foundation

extension Metalink {
    /// A URL of the whole file.
    package struct Source: Sendable, Hashable {
        /// The lowest priority, also of a source without a stated priority (RFC 5854 §4.2.16.1).
        package static let lowestPriority = 999_999

        /// An absolute URL.
        package var url: URL {
            didSet { if url != oldValue { target = nil } }
        }
        /// Spelling of path and query, if ``url`` does not preserve it; otherwise `nil`. See ``HTTPURL``.
        package var target: String?
        /// 1 is the best, ``lowestPriority`` the worst.
        package var priority: Int
        /// The country of the server: an ISO 3166-1 code of two letters, in lower case.
        package var location: String?

        /// - Parameters:
        ///   - url: an absolute `http` or `https` URL.
        ///   - priority: from 1, the best, to ``lowestPriority``, the worst (RFC 5854 §4.2.16.1).
        ///   - location: the country of the server: an ISO 3166-1 code of two letters, in lower case.
        package init(_ url: URL, priority: Int = lowestPriority, location: String? = nil) {
            self.url = url
            self.priority = priority
            self.location = location
        }

        package init(_ source: SpelledURL, priority: Int = lowestPriority) {
            self.init(source.url, priority: priority)
            target = source.target
        }

        package init(_ address: HTTPURL, priority: Int = lowestPriority, location: String? = nil) {
            self.init(address.url, priority: priority, location: location)
            target = address.spelling
        }
    }
}

extension Metalink.Source: CodedByKeys {
    package enum Keys: String, CodingKey { case url, target, priority, location }

    package init(values: KeyedDecodingContainer<Keys>) throws {
        self.init(
            try values.decode(CodedURL.self, forKey: .url).url,
            priority: try values.decode(Int.self, forKey: .priority),
            location: try values.decodeIfPresent(String.self, forKey: .location)
        )
        target = try values.decodeIfPresent(String.self, forKey: .target)
    }

    package func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws {
        try values.encode(CodedURL(url), forKey: .url)
        if keepsSecrets { try values.encodeIfPresent(target, forKey: .target) }
        try values.encode(priority, forKey: .priority)
        try values.encodeIfPresent(location, forKey: .location)
    }
}

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
