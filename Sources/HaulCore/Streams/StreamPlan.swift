/// One of the playlists that a film consists of. Written as `main`, `audio0`, `subtitles2`.
package enum StreamTrack: Sendable, Hashable, Codable, RawRepresentable {
    /// The variant, or the only media playlist.
    case main
    /// A rendition, counted from 0 in the order of the selection.
    case audio(Int), subtitles(Int)

    package init?(rawValue: String) {
        func number(after prefix: String) -> Int? {
            guard rawValue.hasPrefix(prefix) else { return nil }
            return Int(rawValue.dropFirst(prefix.count)).flatMap { $0 < 0 ? nil : $0 }
        }
        if rawValue == "main" {
            self = .main
        } else if let number = number(after: "audio") {
            self = .audio(number)
        } else if let number = number(after: "subtitles") {
            self = .subtitles(number)
        } else {
            return nil
        }
    }

    package var rawValue: String {
        switch self {
        case .main: "main"
        case .audio(let number): "audio\(number)"
        case .subtitles(let number): "subtitles\(number)"
        }
    }
}

/// The resources of a film in the order in which the film needs them, as its playlists list them at one time.
package struct StreamPlan: Sendable, Hashable {
    package let tracks: [TrackPlan]

    /// - Parameter media: the tracks with their playlists, the main one first.
    /// - Throws: ``StreamError`` for a protected stream, an I-frame playlist, and a track without segments.
    package init(media: [(track: StreamTrack, playlist: MediaPlaylist)]) throws(StreamError) {
        var tracks: [TrackPlan] = []
        for (track, playlist) in media { tracks.append(try TrackPlan(track, playlist)) }
        self.tracks = tracks
    }

    package init(_ playlist: MediaPlaylist) throws(StreamError) { try self.init(media: [(.main, playlist)]) }
}

/// Consecutive segments of a track with the same initialization section, or without one, and with the same
/// discontinuity number.
package struct StreamPart: Sendable, Hashable {
    package let discontinuityNumber: Int64
    /// The index of the initialization section in the track's resources; `nil` if the segments need none. Several parts
    /// may share a section.
    package let initialization: Int?
    /// The indexes of the segments in the track's resources.
    package internal(set) var segments: [Int]
}

/// Consecutive segments of a track that Haul does not fetch.
package struct StreamGap: Sendable, Hashable, Codable {
    package enum Reason: String, Sendable, Hashable, Codable {
        /// The playlist marks the segments as missing.
        case declared
        /// The segments left the live playlist between two reloads.
        case missed
    }

    package let track: StreamTrack
    package let numbers: ClosedRange<Int64>
    /// Length, in seconds; an estimate if the segments were missed.
    package let seconds: Double
    package let reason: Reason

    package init(track: StreamTrack, numbers: ClosedRange<Int64>, seconds: Double, reason: Reason) {
        (self.track, self.numbers, self.seconds, self.reason) = (track, numbers, seconds, reason)
    }
}

/// A segment or an initialization section of a track, fetched with one request.
package struct StreamResource: Sendable, Hashable {
    package let identity: SegmentIdentity
    package let url: HTTPURL
    /// `nil` for the whole resource. With ``key``, a range of the encrypted bytes.
    package let range: ByteRange?
    package let key: SegmentKey?
    /// The initialization vector of 16 octets; `nil` for a plain resource.
    package let vector: [UInt8]?
    /// Duration from the playlist; 0 for an initialization section.
    package let seconds: Double

    package var isInitialization: Bool { identity.number == nil }

    package init(_ segment: MediaSegment) {
        identity = SegmentIdentity(segment)
        url = segment.url
        range = segment.range
        key = segment.key
        vector = segment.key?.initializationVector(segment.number)
        seconds = segment.duration
    }

    package init(_ section: InitializationSection) {
        identity = SegmentIdentity(section)
        url = section.url
        range = section.range
        key = section.key
        vector = section.key?.statedVector
        seconds = 0
    }
}
