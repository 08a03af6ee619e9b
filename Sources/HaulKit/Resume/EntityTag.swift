/// A name that the server gives one state of a representation (RFC 9110 §8.8.3).
///
/// A server that breaks the grammar (no quotes, `w/"1"`, a blank, two fields, bytes that are not UTF-8) still says something: another
/// text is another version. The same text proves nothing, since clients and caches in between read it each in their own way: such a
/// tag is weak.
struct EntityTag: Sendable, Hashable {
    /// The tag exactly as sent, with `W/` and the quotes: what `If-Range` and `If-Match` send back.
    let text: String
    /// Whether the text follows the grammar: `"…"` or `W/"…"`, with an `etagc` at every place between the quotes.
    let isWellFormed: Bool

    init(_ text: String) {
        self.text = text
        isWellFormed = Self.isWellFormed(text)
    }

    /// Reads the `ETag` fields of one response. Several that differ are one malformed tag; without a field there is no tag.
    init?(fields: [String]) {
        guard let first = fields.first else { return nil }
        let isRepeated = fields.dropFirst().allSatisfy { $0.utf8.elementsEqual(first.utf8) }
        self.init(isRepeated ? first : fields.joined(separator: ", "))
    }

    /// Whether the tag promises only an equivalent representation, not the same bytes.
    var isWeak: Bool { !isWellFormed || text.utf8.starts(with: Self.weakPrefix) }

    /// Whether both tags promise the same bytes: RFC 9110, 8.8.3.2. Only this allows combining partial responses.
    func stronglyMatches(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && self == other
    }

    /// Whether the opaque parts are the same, weak or not (RFC 9110 §8.8.3.2). A malformed tag has no opaque part: its whole text counts.
    func weaklyMatches(_ other: EntityTag) -> Bool {
        guard isWellFormed, other.isWellFormed else { return self == other }
        return Self.opaque(text).elementsEqual(Self.opaque(other.text))
    }

    // Tags are compared byte by byte, but strings are equal when their characters are, however composed.
    static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    private static func isWellFormed(_ text: String) -> Bool {
        let opaque = opaque(text)
        guard opaque.count >= 2, opaque.first == quote, opaque.last == quote else { return false }
        guard opaque.dropFirst().dropLast().allSatisfy(isTagCharacter) else { return false }
        // The replacement character stands where bytes were not UTF-8. The tag is then not verbatim, and two different
        // tags could look the same.
        return !text.unicodeScalars.contains("\u{FFFD}")
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

/// Stored as its text alone.
extension EntityTag: Codable {
    init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
