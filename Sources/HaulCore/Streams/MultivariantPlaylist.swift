/// The variants of one film: the same content in several qualities, with renditions for sound and subtitles.
package struct MultivariantPlaylist: Sendable, Hashable {
    /// In the order of the playlist, without I-frame variants.
    package internal(set) var variants: [StreamVariant] = []
    /// In the order of the playlist.
    package internal(set) var renditions: [StreamRendition] = []
    /// The first encryption of `EXT-X-SESSION-KEY` that Haul does not remove; `nil` if another such tag has a usable
    /// key. The encryption may concern only some variants, so the media playlists decide.
    package internal(set) var protection: StreamProtection?
    /// The variables that the playlist defines, for the media playlists to import.
    package internal(set) var variables: [String: String] = [:]

    /// Returns the renditions of a group, in the order of the playlist.
    package func renditions(_ type: StreamRendition.MediaType, group: String?) -> [StreamRendition] {
        guard let group else { return [] }
        return renditions.filter { $0.type == type && $0.group == group }
    }
}

/// One quality (`EXT-X-STREAM-INF`).
package struct StreamVariant: Sendable, Hashable {
    package enum VideoRange: String, Sendable, Hashable {
        case sdr = "SDR"
        case hlg = "HLG"
        case pq = "PQ"
    }

    package struct Resolution: Sendable, Hashable, Comparable {
        package let width: Int
        package let height: Int

        /// Number of lines by which people name the resolution: 720 for 1280x720, 1280x534 and 720x1280.
        package var lines: Int { max(min(width, height), max(width, height) * 9 / 16) }

        package static func < (left: Resolution, right: Resolution) -> Bool {
            left.width * left.height < right.width * right.height
        }
    }

    /// The place in the playlist, from 1.
    package let number: Int
    package let url: HTTPURL
    /// Peak bits per second; 0 if unknown.
    package let bandwidth: Int64
    package let averageBandwidth: Int64?
    package let codecs: [String]
    package let resolution: Resolution?
    package let frameRate: Double?
    package let score: Double?
    /// `nil` if unstated or unknown; see ``hasUnknownDemands``.
    package let videoRange: VideoRange?
    package let audioGroup: String?
    package let subtitlesGroup: String?
    package let videoGroup: String?
    package let stableID: String?
    /// Whether the variant has a `VIDEO-RANGE` or a `REQ-…` attribute that Haul does not know. Such a variant is chosen
    /// by its number only.
    package let hasUnknownDemands: Bool

    /// Whether the variant has sound and no pictures, according to its attributes.
    package var isAudioOnly: Bool {
        resolution == nil && !codecs.isEmpty && codecs.allSatisfy(StreamCodec.isAudio)
    }
}

/// A version of the sound, the subtitles or the pictures (`EXT-X-MEDIA`).
package struct StreamRendition: Sendable, Hashable {
    package enum MediaType: String, Sendable, Hashable {
        case audio = "AUDIO"
        case video = "VIDEO"
        case subtitles = "SUBTITLES"
        case closedCaptions = "CLOSED-CAPTIONS"
    }

    package let type: MediaType
    package let group: String
    package let name: String
    package let language: String?
    package let associatedLanguage: String?
    package let isDefault: Bool
    package let isAutoselect: Bool
    package let isForced: Bool
    /// The media playlist; `nil` if the variant contains the rendition.
    package let url: HTTPURL?
    package let channels: String?
    package let characteristics: String?
    /// Channel of closed captions in the video, such as `CC1` (`INSTREAM-ID`).
    package let instreamID: String?
    package let stableID: String?
}
