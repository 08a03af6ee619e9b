extension ResourceDescription {
    /// The stream that a playlist of HTTP Live Streaming describes, with the choices for ``DownloadRequest/stream``.
    public struct Stream: Sendable, Hashable, Codable {
        /// One quality of the film.
        public struct Variant: Sendable, Hashable, Codable {
            /// Place in the playlist, from 1: a choice of ``DownloadRequest/Stream/variant``.
            public let number: Int
            /// Pixels; `nil` if the playlist does not say.
            public let width: Int?
            /// Pixels; `nil` if the playlist does not say.
            public let height: Int?
            /// Peak rate in bits per second; 0 if the playlist does not say.
            public let bandwidth: Int64
            /// Codecs as the playlist names them (RFC 6381).
            public let codecs: [String]
            /// One line for people: `1280x720, 4.10 Mbit/s, avc1.64001f`.
            package let text: String
            /// Whether a download without a choice takes this variant.
            public let isBest: Bool
        }

        /// A rendition of the sound or the subtitles.
        public struct Track: Sendable, Hashable, Codable {
            /// Name for people.
            public let name: String
            /// Language tag (RFC 5646); `nil` if the playlist names none.
            public let language: String?
            /// Whether the playlist marks this sound as the default, which a download without a choice prefers. `false`
            /// for subtitles, which need a choice.
            public let isDefault: Bool
        }

        /// The variants, in the order of the playlist; empty for a playlist of segments.
        public let variants: [Variant]
        /// The renditions of the sound, one for each pair of language and name.
        public let audio: [Track]
        /// The subtitles, one for each pair of language and name.
        public let subtitles: [Track]
        /// Duration in seconds of the listed segments; `nil` if their playlist could not be read.
        public let seconds: Double?
        /// Whether segments are still being added; `false` if their playlist could not be read.
        public let isLive: Bool
        /// The protection that keeps Haul from fetching the stream, for people; `nil` without one.
        public let protection: String?
    }
}

extension ResourceDescription.Stream {
    /// - Parameters:
    ///   - list: `nil` for a playlist without variants.
    ///   - media: the playlist of the best variant, or the only playlist; `nil` if it could not be read.
    package init(_ list: MultivariantPlaylist?, _ media: MediaPlaylist?) {
        let best = try? list?.select().variant.number
        variants = (list?.variants ?? []).map {
            Variant(
                number: $0.number,
                width: $0.resolution?.width,
                height: $0.resolution?.height,
                bandwidth: $0.bandwidth,
                codecs: $0.codecs,
                text: $0.description,
                isBest: $0.number == best
            )
        }
        audio = Self.tracks(list, .audio)
        subtitles = Self.tracks(list, .subtitles)
        seconds = media?.seconds
        isLive = media?.isEnded == false
        protection = (media?.protection ?? list?.protection)?.description
    }

    private static func tracks(_ list: MultivariantPlaylist?, _ type: StreamRendition.MediaType) -> [Track] {
        var seen: Set<String> = []
        return (list?.renditions ?? []).filter { $0.type == type && (type == .audio || $0.url != nil) }
            .filter { seen.insert("\($0.language ?? "") \($0.name)").inserted }
            .map { Track(name: $0.name, language: $0.language, isDefault: type == .audio && $0.isDefault) }
    }
}
