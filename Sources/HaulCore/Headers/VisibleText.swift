/// Removes or replaces invisible characters in text from outside: control characters, marks that reorder or hide text,
/// unassigned and private-use code points. Such characters make different names look the same.
///
/// Characters that a script needs stay: joiners in Arabic and Persian and in the scripts of India (by the rules that
/// RFC 5892 A.1 and A.2 have for host names), joiners between emoji, and variation selectors behind an emoji or a Han
/// character.
package enum VisibleText {
    static func cleaned(_ text: some StringProtocol) -> String {
        var scalars = Array(text.unicodeScalars)
        while true {
            // Repeats, because the removal may have left a joiner without the characters that it joins.
            let kept = visible(scalars, inPlaceOfOthers: nil)
            if kept.count == scalars.count { return String(String.UnicodeScalarView(kept)) }
            scalars = kept
        }
    }

    /// Returns `text`, which comes from outside or contains a name from outside, as one line of a message. A line break
    /// or a tab becomes a blank. Any other character that is invisible or that a terminal would obey becomes a question
    /// mark.
    package static func line(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        let scalars = text.unicodeScalars.map { $0.properties.isWhitespace && !isVisible($0) ? " " : $0 }
        return String(String.UnicodeScalarView(visible(scalars, inPlaceOfOthers: "?")))
    }

    private static func visible(
        _ scalars: [Unicode.Scalar],
        inPlaceOfOthers replacement: Unicode.Scalar?
    ) -> [Unicode.Scalar] {
        var kept: [Unicode.Scalar] = []
        kept.reserveCapacity(scalars.count)
        for (index, scalar) in scalars.enumerated() {
            if isVisible(scalar) || isNeeded(scalar, after: kept.last, before: scalars[(index + 1)...]) {
                kept.append(scalar)
            } else if let replacement {
                kept.append(replacement)
            }
        }
        return kept
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F }
        switch scalar.properties.generalCategory {
        // Some characters of Unicode's category Format are visible, for example the signs before a number in Arabic.
        case .format: return visibleFormats.contains(scalar.value)
        case .control, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return false
        default: return !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    private static let visibleFormats: Set<UInt32> = [
        0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD,
    ]

    private static func isNeeded(
        _ scalar: Unicode.Scalar,
        after previous: Unicode.Scalar?,
        before rest: ArraySlice<Unicode.Scalar>
    ) -> Bool {
        guard let previous else { return false }
        switch scalar {
        case "\u{200D}":
            guard let next = rest.first else { return false }
            return isVirama(previous) || isEmojiPart(previous) && next.properties.isEmojiPresentationOrSymbol
        case "\u{200C}":
            guard let next = rest.first(where: { $0.properties.generalCategory != .nonspacingMark }) else {
                return false
            }
            return isVirama(previous) || isJoining(previous) && isJoining(next)
        case "\u{FE0F}", "\u{FE0E}":
            return previous.properties.isEmojiPresentationOrSymbol || previous.isASCII && rest.first == "\u{20E3}"
        case "\u{FE00}"..."\u{FE02}", "\u{E0100}"..."\u{E01EF}": return previous.properties.isUnifiedIdeograph
        default: return false
        }
    }

    private static func isVirama(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.canonicalCombiningClass == .virama
    }

    private static func isEmojiPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\u{FE0F}" || scalar.properties.isEmojiModifier || scalar.properties.isEmojiPresentationOrSymbol
    }

    /// Whether the shape of this letter depends on its neighbours in its script. Includes marks on such letters.
    private static func isJoining(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x610...0x61A, 0x620...0x65F, 0x66E...0x6D3, 0x6D5, 0x6D6...0x6DC, 0x6DF...0x6E8, 0x6EA...0x6EF,
            0x6FA...0x6FF:
            true
        case 0x710...0x74F, 0x750...0x77F, 0x7CA...0x7F5, 0x840...0x85B, 0x860...0x86A, 0x870...0x887, 0x8A0...0x8FF:
            true
        case 0x1820...0x18AA, 0x10D00...0x10D27, 0x1E900...0x1E943: true
        default: false
        }
    }
}

extension Unicode.Scalar.Properties {
    /// Whether the scalar is an emoji, but no digit and not of the category Other Punctuation. Unicode counts digits,
    /// `#` and `*` as emoji too.
    fileprivate var isEmojiPresentationOrSymbol: Bool {
        isEmoji && !isASCIIHexDigit && generalCategory != .otherPunctuation
    }
}
