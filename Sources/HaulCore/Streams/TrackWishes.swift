/// The variant that a person wants: `best`, `smallest`, `720p`, `4M`, a number of the list, or a codec.
/// ``StreamSelection`` is the result for a playlist.
package enum VariantWish: Sendable, Hashable {
    /// The highest score if all have one, else the most pixels, then the most bits per second.
    case best
    /// The fewest bits per second.
    case smallest
    /// The best variant with at most this many lines (``StreamVariant/Resolution/lines``).
    case height(Int)
    /// The best variant of at most this many bits per second.
    case bandwidth(Int64)
    /// The variant at this place of the playlist, from 1.
    case number(Int)
    /// The best variant with this codec.
    case codec(String)

    /// - Returns: `nil` for a text that means no variant.
    package init?(_ text: String) {
        let word = text.lowercased()
        let digits = word.utf8.dropLast()
        switch word {
        case "best": self = .best
        case "smallest": self = .smallest
        default:
            if word.utf8.last == UInt8(ascii: "p"), let height = PlaylistNumber.integer(Array(digits)[...]),
                (1...65_535).contains(height)
            {
                self = .height(Int(height))
            } else if let number = PlaylistNumber.integer(Array(word.utf8)[...]) {
                // A number above the limit of variants is a bandwidth.
                guard number > 0 else { return nil }
                self = number <= StreamLimits().variants ? .number(Int(number)) : .bandwidth(number)
            } else if StreamCodec.families(named: word) != nil {
                self = .codec(word)
            } else if let count = ByteCount(text), count.bytes > 0, word.utf8.last != UInt8(ascii: "b") {
                self = .bandwidth(count.bytes)
            } else {
                return nil
            }
        }
    }
}

extension VariantWish: CustomStringConvertible {
    package var description: String {
        switch self {
        case .best: "best"
        case .smallest: "smallest"
        case .height(let height): "\(height)p"
        case .bandwidth(let bits): StreamVariant.rate(bits)
        case .number(let number): "\(number)"
        case .codec(let codec): codec
        }
    }
}

/// The sound or the subtitles that a person wants.
package enum TrackWish: Sendable, Hashable {
    /// The rendition that the playlist prefers.
    case automatic
    /// A language (`de`, `pt-BR`) or the name of a rendition.
    case named(String)
    case all
    case none

    /// - Returns: `nil` for an empty text.
    package init?(_ text: String) {
        switch text.lowercased() {
        case "": return nil
        case "all": self = .all
        case "none": self = .none
        default: self = .named(text)
        }
    }
}
