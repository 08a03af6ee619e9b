internal import Foundation

/// Description of the film in a stream log, written once at the beginning of the log.
package struct StreamFilm: Sendable, Hashable, Codable {
    /// One of the tracks that the film consists of: the variant or a rendition.
    package struct Track: Sendable, Hashable, Codable {
        package enum Role: String, Sendable, Hashable, Codable {
            /// The variant: pictures, and sound if no other track has it.
            case main
            case audio
            case subtitles
        }

        package var role: Role
        /// Language tag (RFC 5646); `nil` if the playlist names none.
        package var language: String?
        package var name: String?
        /// ``StreamVariant/mark`` of the chosen variant; `nil` for a rendition and for a playlist without variants.
        package var variant: String?

        package init(_ role: Role, language: String? = nil, name: String? = nil, variant: String? = nil) {
            (self.role, self.language, self.name, self.variant) = (role, language, name, variant)
        }
    }

    package var tracks: [Track]
    /// Name of the version: equal only for the same segments of the same playlist.
    package var version: String
    /// Whether the playlist grew while the film was recorded. Later copies of such a playlist may begin with a later
    /// segment.
    package var isLive: Bool
    /// Format of the finished file, and whether Haul or ffmpeg writes the file.
    package enum Container: String, Sendable, Hashable, Codable {
        /// The segments, joined one after another.
        case transportStream = "ts"
        /// The tracks merged to one fragmented MP4.
        case mp4
        /// An MPEG transport stream that ffmpeg writes.
        case transportStreamByProgram = "ts by ffmpeg"
        case mp4ByProgram = "mp4 by ffmpeg"
        case matroska = "mkv by ffmpeg"

        /// Extension of the file, without a dot.
        package var ending: String { String(rawValue.prefix { $0 != " " }) }
        package var isByProgram: Bool { rawValue.hasSuffix("ffmpeg") }
    }

    package var container: Container
    /// Whether gaps are left out of the finished file instead of being an error.
    package var allowsGaps: Bool
    /// Number of segments of each track without the gaps that the playlist declares; `nil` for a live film.
    package var segments: [Int]?

    package init(
        tracks: [Track],
        version: String,
        isLive: Bool,
        container: Container,
        allowsGaps: Bool,
        segments: [Int]? = nil
    ) {
        (self.tracks, self.version, self.isLive) = (tracks, version, isLive)
        (self.container, self.allowsGaps, self.segments) = (container, allowsGaps, segments)
    }

    /// The strong entity tag of the film's version. The reader of a stream answers with this tag, so that a resume can
    /// compare versions.
    package var entityTag: String {
        let variant = tracks.first?.variant.map { "-" + $0 } ?? ""
        return "\"haul-stream-\(version)\(variant)\""
    }
}

extension StreamFilm {
    /// - Returns: `nil` for bytes that are no film.
    package init?(json: [UInt8]) {
        // A log that does not begin with a film is begun anew, whatever the reason.
        guard let film = try? JSONDecoder().decode(StreamFilm.self, from: Data(json)) else { return nil }
        self = film
    }

    package func json() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
}
