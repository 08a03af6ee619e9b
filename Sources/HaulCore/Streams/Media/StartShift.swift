/// The time that is taken from all tracks of a film that begins late, such as one cut from a live stream.
///
/// Players show the time from 0 to the end as the duration, with nothing to see before the first sample. The same time
/// is taken from all tracks, so that sound and picture stay together. The time is rounded down to one that all clocks
/// can express, so that no timestamp is rounded: less than one unit stays at the start (10 ms with clocks of 1,000,
/// 44,100 and 90,000 ticks). A start that stands in an edit list as an empty edit is taken from there.
struct StartShift: Sendable, Hashable {
    /// The start of one track.
    struct Start: Sendable {
        /// Empty edit at the beginning, in ticks of the film.
        let empty: Int64
        /// Time in the media that the edit list shows first.
        let mediaTime: Int64
        /// Decode time of the first sample, or `nil` if none is known.
        let decodeTime: Int64?
        let timescale: UInt32
    }

    /// Times that are taken from one track.
    struct Cut: Sendable, Hashable {
        /// From the empty edit, in ticks of the film.
        var empty: Int64 = 0
        /// From each decode time, in ticks of the track.
        var decodeTime: Int64 = 0
    }

    let cuts: [Cut]

    init(_ starts: [Start], movieTimescale: UInt32) {
        let unit = starts.reduce(movieTimescale) { $0.commonDivisor($1.timescale) }
        let inEdits = starts.map { MediaTime(ticks: $0.empty, scale: movieTimescale).ticks(of: unit) }
        let common =
            zip(starts, inEdits).compactMap { start, empty -> Int64? in
                guard let time = start.decodeTime else { return nil }
                let shown = MediaTime(ticks: max(0, time.addingClamped(-start.mediaTime)), scale: start.timescale)
                return empty.addingClamped(shown.ticks(of: unit))
            }.min() ?? 0
        cuts = zip(starts, inEdits).map { start, empty in
            let ofEdit = min(common, empty)
            return Cut(
                empty: Self.ticks(ofEdit, movieTimescale / unit),
                decodeTime: Self.ticks(common - ofEdit, start.timescale / unit)
            )
        }
    }

    /// Returns the ticks of `units`, clamped to `Int64`. A product that has to be clamped exceeds the time before the
    /// track's first sample, so the track is refused later.
    private static func ticks(_ units: Int64, _ ticksPerUnit: UInt32) -> Int64 {
        let (ticks, overflows) = units.multipliedReportingOverflow(by: Int64(ticksPerUnit))
        return overflows ? .max : ticks
    }
}

extension FragmentedMovie.Track {
    /// The empty edit and the media time of an edit list as packagers write it: an empty edit, a media edit, or both.
    /// `nil` for any other list. Such a list is kept as it is, and the film keeps its start.
    var simpleEdits: (empty: UInt64, mediaTime: Int64)? {
        var edits = edits[...]
        var empty: UInt64 = 0
        if let first = edits.first, first.isEmpty {
            empty = first.duration
            edits = edits.dropFirst()
        }
        guard let media = edits.first else { return empty == 0 ? (0, 0) : nil }
        guard edits.count == 1, media.mediaTime >= 0, media.rate == 0x1_0000, empty < 1 << 61 else { return nil }
        return (empty, min(media.mediaTime, 1 << 61))
    }
}
