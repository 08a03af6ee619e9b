/// A tag by which the server names one version of a representation (RFC 9110 §8.8.3).
///
/// A tag that breaks the grammar (no quotes, `w/"1"`, a blank, two fields, bytes that are not UTF-8) still tells
/// versions apart: another text is another version. The same text proves nothing, because clients and caches read such
/// a tag in different ways. Such a tag is weak.
package struct EntityTag: Sendable, Hashable {
    /// The tag exactly as sent, with `W/` and the quotes. `If-Range` and `If-Match` send it back.
    package let text: String
    /// Whether the text follows the grammar: `"…"` or `W/"…"`, with an `etagc` at every place between the quotes.
    package let isWellFormed: Bool

    package init(_ text: String) {
        self.text = text
        isWellFormed = Self.isWellFormed(text)
    }

    /// Reads the `ETag` fields of one response; `nil` if there is none. Several fields that differ are one malformed
    /// tag.
    package init?(fields: [String]) {
        guard let first = fields.first else { return nil }
        let isRepeated = fields.dropFirst().allSatisfy { $0.utf8.elementsEqual(first.utf8) }
        self.init(isRepeated ? first : fields.joined(separator: ", "))
    }

    /// Whether the tag promises only an equivalent representation, not the same bytes.
    package var isWeak: Bool { !isWellFormed || text.utf8.starts(with: Self.weakPrefix) }

    /// Returns whether both tags promise the same bytes (RFC 9110 §8.8.3.2). Only then may partial responses be
    /// combined.
    package func stronglyMatches(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && self == other
    }

    /// Returns whether the opaque parts are equal, weak or not (RFC 9110 §8.8.3.2). A malformed tag has no opaque part,
    /// so its whole text counts.
    package func weaklyMatches(_ other: EntityTag) -> Bool {
        guard isWellFormed, other.isWellFormed else { return self == other }
        return Self.opaque(text).elementsEqual(Self.opaque(other.text))
    }

    // Compares bytes, because two strings that differ only in Unicode composition are equal in Swift.
    package static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    private static func isWellFormed(_ text: String) -> Bool {
        let opaque = opaque(text)
        guard opaque.count >= 2, opaque.first == quote, opaque.last == quote else { return false }
        guard opaque.dropFirst().dropLast().allSatisfy(isTagCharacter) else { return false }
        // U+FFFD replaced bytes that were not UTF-8, so two different tags could have the same text.
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

/// Encoded as the text alone.
extension EntityTag: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
