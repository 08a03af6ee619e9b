package import Foundation

/// The segments of one track, in their order.
package struct MediaPlaylist: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        case vod = "VOD"
        case event = "EVENT"
    }

    /// A place to begin (`EXT-X-START`), in seconds from the beginning, or from the end if negative.
    package struct Start: Sendable, Hashable {
        package let offset: Double
        package let isPrecise: Bool
    }

    package internal(set) var version = 1
    /// Approximate upper bound of the durations of segments, in seconds. The time between reloads depends on it.
    package internal(set) var targetDuration = 0.0
    /// The number of the first segment.
    package internal(set) var mediaSequence: Int64 = 0
    package internal(set) var discontinuitySequence: Int64 = 0
    /// Whether no segment will be added.
    package internal(set) var isEnded = false
    /// Whether the playlist has `EXT-X-ENDLIST`. A ``Kind/vod`` playlist is ended without the tag too, but then nothing
    /// shows that the playlist arrived whole.
    package internal(set) var hasEndMark = false
    /// `nil` if the playlist states no known type. Segments may then disappear from its front.
    package internal(set) var kind: Kind?
    package internal(set) var isIFramesOnly = false
    package internal(set) var segments: [MediaSegment] = []
    package internal(set) var start: Start?
    /// The variables that the playlist defines.
    package internal(set) var variables: [String: String] = [:]
    /// The first encryption that Haul does not remove, of a segment or of an initialization section; `nil` for none.
    package internal(set) var protection: StreamProtection?

    /// Length of all segments, in seconds.
    package var seconds: Double { segments.reduce(0) { $0 + $1.duration } }

    /// Refuses a protected playlist and an I-frame playlist.
    package func checkFetchable() throws(StreamError) {
        if let protection { throw .protected(protection) }
        if isIFramesOnly { throw .unsupported("the playlist lists single pictures for winding, not a film") }
    }
}

/// A part of a track that is fetched with a request of its own.
package struct MediaSegment: Sendable, Hashable {
    /// Media sequence number: ``MediaPlaylist/mediaSequence`` plus the number of segments before. Later copies of the
    /// playlist give the segment the same number.
    package let number: Int64
    package let url: HTTPURL
    /// `nil` for the whole resource. With ``key``, a range of the encrypted bytes.
    package let range: ByteRange?
    /// In seconds; 0 is possible.
    package let duration: Double
    /// Segments with the same number share encoding and time line. Renditions are matched by this number.
    package let discontinuityNumber: Int64
    package let key: SegmentKey?
    /// The bytes that must precede the segment; `nil` for formats that need none.
    package let map: InitializationSection?
    /// Whether the playlist marks the segment as missing. Such a segment is not requested.
    package let isGap: Bool
    /// The date of the first sample, if a tag states it.
    package let programDate: Date?
    /// Approximate bits per second, if a tag states them.
    package let bitrate: Int64?
}

/// The bytes that must precede segments (`EXT-X-MAP`).
package struct InitializationSection: Sendable, Hashable {
    package let url: HTTPURL
    /// `nil` for the whole resource.
    package let range: ByteRange?
    /// A key with a ``SegmentKey/statedVector``, because an initialization section has no number from which a vector
    /// could follow. `nil` for a plain section.
    package let key: SegmentKey?
}
