/// A validator the server chose for one state of a representation: RFC 9110, 8.8.3.
struct EntityTag: Sendable, Hashable {
    /// The tag exactly as sent, with `W/` and the quotes: what `If-Range` and `If-Match` send back.
    let text: String

    /// - Returns: nil unless `text` is `"…"` or `W/"…"` and every character between the quotes is an `etagc`. A server
    ///   that forgets the quotes has sent no validator.
    init?(_ text: String) {
        let opaque = Self.opaque(text)
        guard opaque.count >= 2, opaque.first == Self.quote, opaque.last == Self.quote else { return nil }
        guard opaque.dropFirst().dropLast().allSatisfy(Self.isTagCharacter) else { return nil }
        // The replacement character stands where bytes were not UTF-8. The tag is then not verbatim, and two different
        // tags could look the same.
        guard !text.unicodeScalars.contains("\u{FFFD}") else { return nil }
        self.text = text
    }

    /// Whether the tag promises only an equivalent representation, not the same bytes.
    var isWeak: Bool { text.utf8.starts(with: Self.weakPrefix) }

    /// Whether both tags promise the same bytes: RFC 9110, 8.8.3.2. Only this allows combining partial responses.
    func stronglyMatches(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && self == other
    }

    /// Whether the opaque parts are the same, weak or not: RFC 9110, 8.8.3.2.
    func weaklyMatches(_ other: EntityTag) -> Bool {
        Self.opaque(text).elementsEqual(Self.opaque(other.text))
    }

    // Tags are compared byte by byte, but strings are equal when their characters are, however composed.
    static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    private static let quote = UInt8(ascii: "\"")
    private static let weakPrefix = "W/".utf8

    private static func opaque(_ text: String) -> Substring.UTF8View {
        text.utf8.dropFirst(text.utf8.starts(with: weakPrefix) ? weakPrefix.count : 0)
    }

    private static func isTagCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x7E, 0x80...0xFF: true
        default: false
        }
    }
}

/// Stored as its text alone, and refused when that is not an entity tag: a damaged store must not become a validator.
extension EntityTag: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let tag = EntityTag(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an entity tag")
        }
        self = tag
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
