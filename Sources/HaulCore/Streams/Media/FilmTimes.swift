/// The times of the film's tracks: the time that is taken from each track (see ``StartShift``), and the times at which
/// a player shows the tracks.
struct FilmTimes: Sendable {
    let cuts: [StartShift.Cut]
    /// The time at which each track ends so far, in ticks of the track.
    private(set) var ends: [Int64]
    private let tracks: [Track]
    private let timescale: UInt32

    private struct Track: Sendable {
        /// Media time with which the player begins, in ticks of the track.
        let mediaTime: Int64
        /// Time of the film before the track is shown, in ticks of the track.
        let empty: Int64
        let timescale: UInt32
    }

    /// - Parameters:
    ///   - tracks: The film's tracks, numbered from 1.
    ///   - starts: First decode time of each track, where it is known.
    ///   - timescale: The film's clock.
    init(_ tracks: [MovieHeader.Track], starts: [Int64?], timescale: UInt32) {
        self.timescale = timescale
        let edits = tracks.map { track in
            let edits = track.track.simpleEdits
            let empty = MediaTime(ticks: Int64(clamping: edits?.empty ?? 0), scale: track.sourceTimescale)
            return (empty: empty.ticks(of: timescale), mediaTime: edits?.mediaTime ?? 0)
        }
        // If an edit list is not simple, the film keeps its start.
        let isSimple = tracks.allSatisfy { $0.track.simpleEdits != nil }
        let begins = tracks.indices.map { position in
            StartShift.Start(
                empty: edits[position].empty,
                mediaTime: edits[position].mediaTime,
                decodeTime: isSimple ? starts[position] : nil,
                timescale: tracks[position].track.timescale
            )
        }
        let cuts = StartShift(begins, movieTimescale: timescale).cuts
        self.cuts = cuts
        ends = [Int64](repeating: 0, count: tracks.count)
        self.tracks = tracks.indices.map { position in
            let empty = MediaTime(ticks: edits[position].empty - cuts[position].empty, scale: timescale)
            let scale = tracks[position].track.timescale
            return Track(mediaTime: edits[position].mediaTime, empty: empty.ticks(of: scale), timescale: scale)
        }
    }

    /// Decode time in the film, or `nil` if it lies before the film's start.
    func shifted(_ time: Int64, of number: UInt32) -> Int64? {
        let (shifted, overflows) = time.subtractingReportingOverflow(cuts[Int(number) - 1].decodeTime)
        return overflows || shifted < 0 ? nil : shifted
    }

    /// Notes the samples of the next group.
    ///
    /// - Returns: The first time at which each track is shown from this group on.
    mutating func take(_ group: FragmentGroup) -> [Int64] {
        var first = [Int64?](repeating: nil, count: tracks.count)
        var last = ends
        for part in group.members.lazy.flatMap(\.parts) {
            let track = Int(part.number) - 1
            let start = shown(part.time.addingClamped(part.samples.earliest), tracks[track])
            first[track] = min(first[track] ?? start, start)
            last[track] = max(last[track], shown(part.time.addingClamped(part.samples.latest), tracks[track]))
        }
        // A track without samples here goes on where it ended.
        defer { ends = last }
        return zip(first, ends).map { $0 ?? $1 }
    }

    private func shown(_ time: Int64, _ track: Track) -> Int64 {
        max(0, time.addingClamped(-track.mediaTime)).addingClamped(track.empty)
    }

    /// The film's duration in ticks of its clock: the end of the track that is shown last.
    var duration: Int64 {
        zip(ends, tracks).map { MediaTime(ticks: $0, scale: $1.timescale).ticks(of: timescale) }.max() ?? 0
    }
}
