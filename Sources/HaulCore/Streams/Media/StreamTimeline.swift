/// The places of the parts of a film's tracks in the finished file.
///
/// Each discontinuity number has a clock, which all tracks share (rfc8216bis §6.2.4). The film begins at 0 with its
/// first picture or sound. The time of a number begins where the pictures of the number before end. If the sound of a
/// number is missing, or is shorter or longer than the pictures, the sound of the next number thus begins at the right
/// time.
package struct StreamTimeline: Sendable {
    /// Segments of a track with the same parameters and discontinuity number.
    package struct Part: Sendable {
        package let discontinuity: Int64
        /// Start of the first segment and end of the last one.
        package let times: SegmentTimes
        /// Duration in seconds, from the playlist.
        package let seconds: Double
        /// Whether the part begins where the program tables change, and the playlist announces no change there.
        package let isUnannounced: Bool

        package init(discontinuity: Int64, times: SegmentTimes, seconds: Double, isUnannounced: Bool = false) {
            (self.discontinuity, self.times, self.seconds) = (discontinuity, times, seconds)
            self.isUnannounced = isUnannounced
        }
    }

    /// The time of a discontinuity number.
    private struct Span {
        let discontinuity: Int64
        /// Time of the span's clock at its beginning.
        let base: Double
        /// Seconds of the film at its beginning.
        let begin: Double
    }

    /// Seconds of the film at which each part of each track begins.
    package private(set) var begins: [[Double]]
    private var spans: [Span] = []

    /// - Parameter tracks: the parts of each track in their order, the track with the pictures first. A track without a
    ///   clock of its own, such as subtitles, has no parts.
    package init(_ tracks: [[Part]]) {
        begins = tracks.map { _ in [] }
        var begin = 0.0
        for number in Set(tracks.joined().map(\.discontinuity)).sorted() {
            let parts = tracks.map { $0.filter { $0.discontinuity == number } }
            let ranges = Self.ranges(parts)
            let base = ranges.joined().map(\.lowerBound).min() ?? 0
            spans.append(Span(discontinuity: number, base: base, begin: begin))
            for (track, ranges) in ranges.enumerated() {
                begins[track] += ranges.map { $0.lowerBound - base + begin }
            }
            let leading = ranges.first { !$0.isEmpty } ?? []
            begin += max(0, (leading.map(\.upperBound).max() ?? base) - base)
        }
    }

    /// Limits in seconds. An unannounced part has a clock of its own if it begins more than `mostOverlap` before the
    /// end of the part before it, or more than `mostDistance` after that end.
    private static let mostOverlap = 1.0
    private static let mostDistance = 60.0

    /// Returns the times of the parts of one discontinuity number, on one clock that does not start over.
    private static func ranges(_ tracks: [[Part]]) -> [[ClosedRange<Double>]] {
        let first = tracks.joined().lazy.compactMap(\.times.start).first ?? 0
        return tracks.map { parts in
            var next = first
            // Seconds by which the present clock differs from that of the number.
            var lag = 0.0
            return parts.map { part in
                if part.isUnannounced { lag = 0 }
                var start = part.times.start.map { nearest($0 + lag, to: next) } ?? next
                if part.isUnannounced, !(next - mostOverlap...next + mostDistance).contains(start) {
                    lag = next - start
                    start = next
                }
                let end = part.times.end.map { nearest($0 + lag, to: start + part.seconds) } ?? start + part.seconds
                next = max(start, end)
                return start...next
            }
        }
    }

    /// Returns `time` plus the whole cycles of the clock that bring it nearest to `other`.
    private static func nearest(_ time: Double, to other: Double) -> Double {
        time + ((other - time) / SegmentTimes.cycle).rounded() * SegmentTimes.cycle
    }

    /// Returns the seconds of the film for a time that subtitles state on the clock of a discontinuity number.
    package func film(_ time: Double, in discontinuity: Int64) -> Double {
        guard let span = spans.last(where: { $0.discontinuity <= discontinuity }) ?? spans.first else { return time }
        // Subtitles state only 33 bits of a longer clock. They may come any time after the beginning of the span, but
        // not long before it.
        let cycles = max(0, ((span.base - time) / SegmentTimes.cycle).rounded())
        return time + cycles * SegmentTimes.cycle - span.base + span.begin
    }
}
