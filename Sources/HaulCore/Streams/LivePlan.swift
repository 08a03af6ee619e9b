/// The decisions about one track of a live stream: which segments are new, when the playlist is read again, and when
/// the stream is over (rfc8216bis §6.3.4). Memory stays bounded by the size of one playlist.
package struct LivePlan: Sendable, Hashable {
    package enum Beginning: String, Sendable, Hashable, Codable {
        /// The first segment that the server still has.
        case start
        /// Three target durations before the end, or where `EXT-X-START` says.
        case now
    }

    package enum Event: Sendable, Hashable {
        case playlist(MediaPlaylist, at: Instant)
        /// A reload failed. `status` is `nil` if no answer came.
        case reloadFailed(status: Int?, at: Instant)
        /// The user ends the recording.
        case stop
        /// The time of ``LivePlan/deadline`` has come.
        case deadline
    }

    package enum Next: Sendable, Hashable {
        /// Read the playlist again after this time, counted from the event.
        case reload(after: Duration)
        case ended(Ending)
    }

    package enum Ending: String, Sendable, Hashable, Codable {
        case endList, limit, user
        /// The server answered each reload with 404 or 410 for a minute or ten target durations, whichever is longer,
        /// but at most for an hour.
        case gone
    }

    package struct Step: Sendable, Hashable {
        /// The new segments to fetch, in the order of the playlist, without gaps.
        package internal(set) var segments: [MediaSegment] = []
        /// The gaps that this event revealed.
        package internal(set) var gaps: [StreamGap] = []
        package internal(set) var next: Next
    }

    package let track: StreamTrack
    package let beginning: Beginning
    /// Maximum duration of the recording in seconds; `nil` for no limit.
    package let limit: Double?
    /// Total duration of the segments so far, in seconds, with the gaps.
    package private(set) var seconds = 0.0
    package private(set) var ending: Ending?

    /// The number that the next new segment has; `nil` before the first playlist.
    private var expected: Int64?
    /// The places of the segments in the latest playlist that was not an older copy.
    private var window: [Int64: SegmentPlace] = [:]
    private var windowStart: Int64 = 0
    private var targetDuration = 0.0
    private var began: Instant?
    private var lastSuccess: Instant?
    /// Time of the first of the consecutive reloads that the server answered with 404 or 410.
    private var goneSince: Instant?
    private var staleReloads = 0

    package init(track: StreamTrack = .main, from beginning: Beginning, limit: Double? = nil) {
        self.track = track
        self.beginning = beginning
        self.limit = limit
    }

    /// - Throws: ``StreamError`` if the recording cannot go on. The segments so far remain.
    package mutating func handle(_ event: Event) throws(StreamError) -> Step {
        if let ending { return Step(next: .ended(ending)) }
        switch event {
        case .playlist(let playlist, let instant): return try take(playlist, instant)
        case .reloadFailed(let status, let instant): return try retry(status, instant)
        case .stop: return end(.user, Step(next: .ended(.user)))
        case .deadline: return end(.limit, Step(next: .ended(.limit)))
        }
    }

    /// Time at which the recording ends even if the playlist has listed less than ``limit`` seconds: ``limit`` seconds
    /// and one target duration after the first playlist, because the server may list the last segment one target
    /// duration late. `nil` without a limit, and before the first playlist.
    package var deadline: Instant? {
        guard let limit, let began else { return nil }
        return began + .seconds(min(limit, 1e9) + min(targetDuration, 3600))
    }

    private mutating func end(_ ending: Ending, _ step: Step) -> Step {
        self.ending = ending
        var step = step
        step.next = .ended(ending)
        return step
    }
}

// MARK: - Playlists

extension LivePlan {
    /// Maximum number of consecutive reloads that return an older copy of the playlist, as a server may occasionally
    /// do.
    private static let mostStaleReloads = 10

    private mutating func take(_ playlist: MediaPlaylist, _ instant: Instant) throws(StreamError) -> Step {
        try playlist.checkFetchable()
        (lastSuccess, goneSince) = (instant, nil)
        began = began ?? instant
        targetDuration = max(playlist.targetDuration, 0)
        try compare(playlist)
        let first = expected ?? firstNumber(playlist)
        var step = Step(next: .reload(after: reloadDelay(hasChanged: false)))
        guard let last = playlist.segments.last, last.number >= first || expected == nil else {
            return try finish(step, playlist, hasChanged: false, instant)
        }
        if let missed = missed(from: first, playlist) {
            seconds += missed.seconds
            step.gaps.append(missed)
        }
        for segment in playlist.segments where segment.number >= first {
            if let limit, seconds >= limit { return end(.limit, step) }
            seconds += segment.duration
            if segment.isGap { note(segment, &step) } else { step.segments.append(segment) }
        }
        expected = max(last.number + 1, first)
        return try finish(step, playlist, hasChanged: true, instant)
    }

    private mutating func finish(
        _ step: Step,
        _ playlist: MediaPlaylist,
        hasChanged: Bool,
        _ instant: Instant
    ) throws(StreamError) -> Step {
        var step = step
        if playlist.isEnded && staleReloads == 0 { return end(.endList, step) }
        // The deadline ends the recording of a stream that gets no new segments.
        if let limit, let deadline, seconds >= limit || instant >= deadline { return end(.limit, step) }
        step.next = .reload(after: reloadDelay(hasChanged: hasChanged))
        return step
    }

    private func note(_ segment: MediaSegment, _ step: inout Step) {
        let gap = StreamGap(declared: segment, track: track)
        if let joined = step.gaps.last?.joined(with: gap) {
            step.gaps[step.gaps.count - 1] = joined
        } else {
            step.gaps.append(gap)
        }
    }

    /// Returns the segments that left the playlist between two reloads, with an estimate of their length.
    private func missed(from number: Int64, _ playlist: MediaPlaylist) -> StreamGap? {
        guard let first = playlist.segments.first?.number, first > number else { return nil }
        let average = playlist.seconds / Double(playlist.segments.count)
        return StreamGap(
            track: track,
            numbers: number...(first - 1),
            seconds: average * Double(first - number),
            reason: .missed
        )
    }

    /// Refuses a playlist that lists another segment under a known number, and an older copy that follows too many
    /// older copies. Remembers the places of the segments of a playlist that is not an older copy.
    private mutating func compare(_ playlist: MediaPlaylist) throws(StreamError) {
        guard let first = playlist.segments.first, let last = playlist.segments.last else { return }
        for segment in playlist.segments {
            if let known = window[segment.number], known != SegmentPlace(segment) {
                throw .contradiction(number: segment.number)
            }
        }
        if !window.isEmpty && last.number < windowStart {
            staleReloads += 1
            guard staleReloads <= Self.mostStaleReloads else { throw .wentBack(to: last.number) }
            return
        }
        guard first.number >= windowStart || window.isEmpty else { return }
        staleReloads = 0
        windowStart = first.number
        window = Dictionary(
            playlist.segments.map { ($0.number, SegmentPlace($0)) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Returns the number of the segment with which the recording begins.
    private func firstNumber(_ playlist: MediaPlaylist) -> Int64 {
        guard beginning == .now, !playlist.isEnded else { return playlist.mediaSequence }
        let total = playlist.seconds
        let fromEnd = 3 * targetDuration
        var offset = total - fromEnd
        if let start = playlist.start { offset = start.offset < 0 ? total + start.offset : start.offset }
        var before = 0.0
        var number = playlist.mediaSequence
        for segment in playlist.segments where before <= offset {
            number = segment.number
            before += segment.duration
        }
        return number
    }
}

// MARK: - Reloads

extension LivePlan {
    /// Returns the delay before the next reload, from half a second to five minutes: the target duration after new
    /// segments, otherwise half of it.
    private func reloadDelay(hasChanged: Bool) -> Duration {
        let seconds = hasChanged ? targetDuration : targetDuration / 2
        return .milliseconds(Int(min(max(seconds, 0.5), 300) * 1000))
    }

    /// Tries again until no playlist has come for a minute or ten target durations, whichever is longer, but at most an
    /// hour. If the server answered 404 or 410 all that time, the stream is over. Otherwise throws an error.
    private mutating func retry(_ status: Int?, _ instant: Instant) throws(StreamError) -> Step {
        let since = lastSuccess ?? instant
        lastSuccess = since
        if let deadline, instant >= deadline { return end(.limit, Step(next: .ended(.limit))) }
        let again = Step(next: .reload(after: reloadDelay(hasChanged: false)))
        let patience = max(60, min(10 * targetDuration, 3600))
        if status == 404 || status == 410 {
            let first = goneSince ?? instant
            goneSince = first
            return (instant - first).seconds < patience ? again : end(.gone, again)
        }
        goneSince = nil
        let silence = (instant - since).seconds
        guard silence < patience else {
            throw .reloadsFailed(status: status, seconds: Int(min(silence, 1e9)))
        }
        return again
    }
}

/// Path and range of a segment of a live stream, which stay the same for one number.
private struct SegmentPlace: Sendable, Hashable {
    let path: String
    let range: ByteRange?

    init(_ segment: MediaSegment) {
        let identity = SegmentIdentity(segment)
        path = identity.path
        range = identity.range
    }
}
