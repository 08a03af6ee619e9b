extension DownloadRequest {
    /// Options for a URL that leads to a playlist of HTTP Live Streaming (RFC 8216).
    ///
    /// Haul fetches the segments and joins them into one file, which gets its name only when it is complete. The
    /// options have no effect on a file that is not a playlist. The downloader checks the options when it adds the
    /// request.
    public struct Stream: Sendable, Hashable, Codable {
        /// The container of the finished file.
        public enum Container: String, Sendable, Hashable, Codable, CaseIterable {
            /// MP4 if the segments are fragments of MP4 or ffmpeg is installed, else an MPEG transport stream.
            case automatic = "auto"
            case transportStream = "ts"
            case mp4
            /// Needs ffmpeg.
            case matroska = "mkv"
        }

        /// Where the recording of a live stream begins.
        public enum LiveStart: String, Sendable, Hashable, Codable, CaseIterable {
            /// The first segment that the server still has.
            case start
            /// Three target durations before the end, or where the playlist tells a player to begin.
            case now
        }

        /// Whether to download the playlist itself instead of its segments. Default: `false`.
        public var keepsPlaylist = false
        /// The variant: `best`, `smallest`, a height (`720p`), a bandwidth in bits per second (`4M`), a codec (`hevc`),
        /// or the place of a variant in the playlist, from 1. Default: `nil`, which means `best`.
        public var variant: String?
        /// The sound: a language (`de`) or the name of a rendition, `all` or `none`. Default: `nil`, the sound that the
        /// playlist prefers.
        public var audio: String?
        /// The subtitles: a language, a name or `all`. They need ffmpeg. Default: `nil`, none.
        public var subtitles: String?
        /// The container of the finished file. Default: ``Container/automatic``.
        public var container = Container.automatic
        /// Whether a film with segments that are missing for good counts as complete. With `false`, the default, the
        /// download ends with ``DownloadError/Code/incompleteStream``, and all other segments are kept. The same
        /// request for a finished film with gaps asks for missing segments again, and fetches the film again if the
        /// server has one of them by now.
        public var allowsGaps = false
        /// Length in seconds after which the recording of a live stream ends. The recording of a stream without new
        /// segments ends when this time and one target duration of the playlist have passed. Default: `nil`, no limit.
        public var liveSeconds: Double?
        /// Where the recording of a live stream begins. Default: `nil`: ``LiveStart/start`` for an event, whose
        /// playlist only grows, and ``LiveStart/now`` for all others.
        public var liveStart: LiveStart?

        /// Sets each option to its default.
        public init() {}

        /// Options that download the playlist itself.
        package static let playlist: Self = {
            var stream = Self()
            stream.keepsPlaylist = true
            return stream
        }()

        /// Checks the texts and the length of the recording.
        ///
        /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidStream``.
        package func check() throws(DownloadError) {
            if let variant, VariantWish(variant) == nil {
                throw DownloadError(
                    .invalidStream,
                    "\(variant) is no variant of a stream. Write best, smallest, a height (720p), a bandwidth (4M), a codec (hevc) or a number."
                )
            }
            for (text, what) in [(audio, "sound"), (subtitles, "subtitles")] where text?.isEmpty == true {
                throw DownloadError(
                    .invalidStream,
                    "The \(what) of a stream cannot be empty. Write a language or a name."
                )
            }
            if let liveSeconds, !(liveSeconds > 0 && liveSeconds < 1e9) {
                throw DownloadError(
                    .invalidStream,
                    "The length of a recording has to be more than 0 seconds and less than a billion."
                )
            }
        }
    }
}

extension DownloadRequest.Stream: CodedByKeys {
    package enum Keys: String, CodingKey {
        case keepsPlaylist, variant, audio, subtitles, container, allowsGaps, liveSeconds, liveStart
    }

    /// Decodes the options, and gives each absent option its default.
    package init(values: KeyedDecodingContainer<Keys>) throws {
        keepsPlaylist = try values.decodeIfPresent(Bool.self, forKey: .keepsPlaylist) ?? false
        variant = try values.decodeIfPresent(String.self, forKey: .variant)
        audio = try values.decodeIfPresent(String.self, forKey: .audio)
        subtitles = try values.decodeIfPresent(String.self, forKey: .subtitles)
        container = try values.decodeIfPresent(Container.self, forKey: .container) ?? .automatic
        allowsGaps = try values.decodeIfPresent(Bool.self, forKey: .allowsGaps) ?? false
        liveSeconds = try values.decodeIfPresent(Double.self, forKey: .liveSeconds)
        liveStart = try values.decodeIfPresent(LiveStart.self, forKey: .liveStart)
    }

    /// Encodes the options that differ from their defaults.
    package func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws {
        if keepsPlaylist { try values.encode(true, forKey: .keepsPlaylist) }
        try values.encodeIfPresent(variant, forKey: .variant)
        try values.encodeIfPresent(audio, forKey: .audio)
        try values.encodeIfPresent(subtitles, forKey: .subtitles)
        if container != .automatic { try values.encode(container, forKey: .container) }
        if allowsGaps { try values.encode(true, forKey: .allowsGaps) }
        try values.encodeIfPresent(liveSeconds, forKey: .liveSeconds)
        try values.encodeIfPresent(liveStart, forKey: .liveStart)
    }
}
