/// The resources, parts and gaps of one track.
package struct TrackPlan: Sendable, Hashable {
    package let track: StreamTrack
    /// In the order in which the film needs them. An initialization section comes once, before its first segment.
    package private(set) var resources: [StreamResource] = []
    package private(set) var parts: [StreamPart] = []
    package private(set) var gaps: [StreamGap] = []
    /// Length without the gaps, in seconds.
    package private(set) var seconds = 0.0

    private var sections: [InitializationSection: Int] = [:]
    private var lastMap: InitializationSection?

    /// - Throws: ``StreamError`` for a playlist without segments or one that must not be fetched.
    package init(_ track: StreamTrack, _ playlist: MediaPlaylist) throws(StreamError) {
        try playlist.checkFetchable()
        guard playlist.segments.contains(where: { !$0.isGap }) else {
            throw .unsupported(
                playlist.segments.isEmpty
                    ? "its playlist lists no segments" : "its playlist marks all segments as missing"
            )
        }
        self.track = track
        for segment in playlist.segments { append(segment) }
    }

    /// Starts an empty track of a live stream, whose segments are appended one by one.
    package init(liveTrack track: StreamTrack) {
        self.track = track
    }

    package mutating func append(_ segment: MediaSegment) {
        if segment.isGap {
            note(StreamGap(declared: segment, track: track))
            return
        }
        if parts.last?.discontinuityNumber != segment.discontinuityNumber || lastMap != segment.map {
            let initialization = segment.map.map { index(of: $0) }
            parts.append(
                StreamPart(
                    discontinuityNumber: segment.discontinuityNumber,
                    initialization: initialization,
                    segments: []
                )
            )
            lastMap = segment.map
        }
        parts[parts.count - 1].segments.append(resources.count)
        resources.append(StreamResource(segment))
        seconds += segment.duration
    }

    /// Adds a gap, or extends the last gap if the new one follows directly for the same reason.
    package mutating func note(_ gap: StreamGap) {
        if let last = gaps.last, let joined = last.joined(with: gap) {
            gaps[gaps.count - 1] = joined
        } else {
            gaps.append(gap)
        }
    }

    /// Returns the index of a section in the resources. Adds the section if it is new.
    private mutating func index(of section: InitializationSection) -> Int {
        if let known = sections[section] { return known }
        sections[section] = resources.count
        resources.append(StreamResource(section))
        return resources.count - 1
    }
}

extension StreamGap {
    package init(declared segment: MediaSegment, track: StreamTrack) {
        self.init(
            track: track,
            numbers: segment.number...segment.number,
            seconds: segment.duration,
            reason: .declared
        )
    }

    /// Returns both gaps as one; `nil` if `next` does not follow directly or has another reason.
    func joined(with next: StreamGap) -> StreamGap? {
        guard next.track == track, next.reason == reason, numbers.upperBound < .max,
            next.numbers.lowerBound == numbers.upperBound + 1
        else { return nil }
        return StreamGap(
            track: track,
            numbers: numbers.lowerBound...next.numbers.upperBound,
            seconds: seconds + next.seconds,
            reason: reason
        )
    }
}
