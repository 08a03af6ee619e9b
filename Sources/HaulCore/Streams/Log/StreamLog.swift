/// Contents of a stream log: the film, the initialization sections, and where the bytes of each segment are.
///
/// A value that reads the log record by record; see ``StreamRecord``.
package struct StreamLog: Sendable {
    /// A segment that is whole in the log, or a gap.
    package struct Segment: Sendable {
        package var end: StreamSegmentEnd
        /// Ranges of the log, in the order of the segment's bytes. Empty for a gap.
        package var ranges: [Range<Int64>]

        package var isGap: Bool { end.reason != nil }
    }

    /// One track's part of the log.
    package struct Track: Sendable {
        /// Ranges of the log, by the number of the section.
        package var sections: [Int: Range<Int64>] = [:]
        package var segments: [Int64: Segment] = [:]

        package init() {}

        /// Number of segments that the playlist listed and whose end is known: whole segments, and segments that no
        /// server had. A gap that the playlist declared has the identity 0 and does not count.
        package var accounted: Int { segments.values.count { !$0.isGap || $0.end.identity != 0 } }
    }

    /// An attempt at a segment whose end is not in the log yet.
    private struct Attempt {
        var number: UInt32
        var ranges: [Range<Int64>] = []
    }

    private struct Key: Hashable {
        let track: UInt8
        let number: Int64
    }

    package private(set) var film: StreamFilm?
    package private(set) var tracks: [UInt8: Track] = [:]
    private var open: [Key: Attempt] = [:]
    /// Number for the next attempt, above all numbers in the log.
    package private(set) var nextAttempt: UInt32 = 0
    /// Offset behind the last whole record.
    package private(set) var end: Int64 = 0

    package init() {}

    /// Takes in the next record.
    ///
    /// - Parameters:
    ///   - payload: the payload of a record whose kind is checked; `nil` for other kinds.
    /// - Returns: `false` if the record cannot stand here. The log then ends before it.
    package mutating func take(_ record: StreamRecord, _ payload: [UInt8]?) -> Bool {
        let body = end + Int64(StreamRecord.headLength)
        let whole = body..<body + Int64(record.length)
        let key = Key(track: record.track, number: record.number)
        if end == 0, record.kind != .film { return false }
        skipAttempt(of: record)
        // A payload with a wrong check sum was cut off by a crash. Its record is ignored.
        let checked = record.kind.isChecked ? payload.flatMap(StreamRecord.payload) : []
        if let checked {
            switch record.kind {
            case .filler: break
            case .film:
                guard film == nil, let found = StreamFilm(json: checked) else { return false }
                film = found
            case .section:
                let range = whole.lowerBound..<whole.upperBound - Int64(StreamRecord.checkLength)
                tracks[record.track, default: Track()].sections[Int(clamping: record.number)] = range
            case .bytes:
                if open[key]?.number != record.attempt { open[key] = Attempt(number: record.attempt) }
                if !whole.isEmpty { open[key]?.ranges.append(whole) }
            case .end, .gap:
                guard let end = StreamSegmentEnd(bytes: checked) else { break }
                let attempt = open.removeValue(forKey: key)
                let ranges = attempt?.number == record.attempt ? attempt?.ranges ?? [] : []
                let length = ranges.reduce(0) { $0 + Int64($1.count) }
                guard record.kind == .gap || length == end.length else { break }
                tracks[record.track, default: Track()].segments[record.number] =
                    Segment(end: end, ranges: record.kind == .gap ? [] : ranges)
            }
        } else if record.kind == .film {
            return false
        }
        end = whole.upperBound
        return true
    }

    /// Reserves the attempt number of a record, also of one that a crash cut off. Otherwise, bytes of a new attempt
    /// with the same number would be counted together with the cut-off ones.
    package mutating func skipAttempt(of record: StreamRecord) {
        nextAttempt = max(nextAttempt, record.attempt == .max ? .max : record.attempt + 1)
    }

    package func segment(_ number: Int64, of track: UInt8) -> Segment? { tracks[track]?.segments[number] }
}
