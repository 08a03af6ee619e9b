/// The log of a film during one attempt: the records of earlier attempts, and the records that this attempt appends.
///
/// Confined to the actor of the attempt.
final class FilmLog {
    let film: StreamFilm
    let appender: StreamAppender
    /// Records of earlier attempts; empty if they are of another film.
    private let earlier: StreamLog
    /// Number of the next request. Distinguishes the bytes of two requests for one segment.
    private var attempt: UInt32

    init(_ film: StreamFilm, behind earlier: StreamLog, _ appender: StreamAppender) {
        (self.film, self.earlier, self.appender) = (film, earlier, appender)
        attempt = earlier.nextAttempt
    }

    /// Returns the records that earlier attempts left of a track; `nil` if they left none.
    func earlier(of track: Int) -> StreamLog.Track? { earlier.tracks[UInt8(clamping: track)] }

    /// Whether earlier attempts left a segment.
    var hasSegments: Bool { earlier.tracks.values.contains { $0.segments.values.contains { !$0.isGap } } }

    /// Returns the number of a new request.
    func nextAttempt() -> UInt32 {
        defer { attempt &+= 1 }
        return attempt
    }

    /// Appends a gap unless an earlier attempt has recorded the segment.
    ///
    /// - Parameter inPlaceOfEarlier: whether the segment that the earlier attempt recorded no longer belongs to the
    ///   film.
    func append(
        gap number: Int64,
        _ track: Int,
        _ seconds: Double,
        _ identity: UInt64,
        _ reason: String,
        inPlaceOfEarlier: Bool = false
    ) {
        guard inPlaceOfEarlier || earlier(of: track)?.segments[number] == nil else { return }
        let end = StreamSegmentEnd(seconds: seconds, length: 0, identity: identity, reason: reason)
        let track = UInt8(clamping: track)
        _ = appender.append(StreamRecord.whole(.gap, track: track, number: number, attempt: attempt, end.bytes))
    }
}
