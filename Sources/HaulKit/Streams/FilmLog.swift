/// The log of a film during one attempt: what earlier attempts left, and what this one appends.
///
/// Confined to the actor of the attempt.
final class FilmLog {
    let film: StreamFilm
    let appender: StreamAppender
    /// Records of earlier attempts; empty if they are of another film.
    private let earlier: StreamLog
    /// Number of the next request. Tells the bytes of two requests for one segment apart.
    private var attempt: UInt32

    init(_ film: StreamFilm, behind earlier: StreamLog, _ appender: StreamAppender) {
        (self.film, self.earlier, self.appender) = (film, earlier, appender)
        attempt = earlier.nextAttempt
    }

    /// Returns what earlier attempts left of a track; `nil` if they left nothing.
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
    /// - Parameter inPlaceOfEarlier: whether what the earlier attempt recorded does not belong to the film any more.
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
