/// Properties by which a resource of a film is recognized after the playlist was read again.
///
/// Hosts and queries do not count, because a playlist may name another server or carry new signatures each time. If
/// several resources share path and range, ``StreamPlan/version`` also includes their queries.
package struct SegmentIdentity: Sendable, Hashable, Codable {
    /// The sequence number; `nil` for an initialization section.
    package let number: Int64?
    /// The path without query, as it is requested.
    package let path: String
    package let range: ByteRange?
    /// The path of the key without query; `nil` for a plain resource.
    package let keyPath: String?
    /// The stated initialization vector in hexadecimal digits; `nil` for a plain resource, and if the vector follows
    /// from the number.
    package let vector: String?

    package init(_ segment: MediaSegment) {
        self.init(segment.number, segment.url, segment.range, segment.key)
    }

    package init(_ section: InitializationSection) {
        self.init(nil, section.url, section.range, section.key)
    }

    private init(_ number: Int64?, _ url: HTTPURL, _ range: ByteRange?, _ key: SegmentKey?) {
        self.number = number
        path = Self.path(url)
        self.range = range
        keyPath = key.map { Self.path($0.url) }
        vector = key?.statedVector?.hexadecimal
    }

    /// Returns the query of a URL, as it is requested; `nil` if there is none.
    static func query(_ url: HTTPURL) -> String? {
        let target = url.target
        return target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[$0...].dropFirst()) }
    }

    private static func path(_ url: HTTPURL) -> String {
        let target = url.target
        return target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[..<$0]) } ?? target
    }
}
