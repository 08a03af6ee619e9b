/// A fragment whose `moof` is read: which samples of which track it has, and where their data lies.
package struct MovieFragment: Sendable {
    /// Maximum numbers of `traf` boxes and of `trun` boxes in a fragment.
    static let maximumTracks = 256
    static let maximumRuns = 65_536

    let stored: StoredFragment
    var tracks: [TrackFragment]

    /// Reads a fragment of a rendition.
    package init(_ stored: StoredFragment, of movie: FragmentedMovie) throws(MediaError) {
        self.stored = stored
        let outer = try Box.all(in: stored.moof[...]).required("moof", in: "fragment")
        let boxes = try Box.all(in: outer.content).filter { $0.type == "traf" }
        guard boxes.count <= Self.maximumTracks else { throw .tooMany("traf") }
        tracks = []
        var runs = 0
        for box in boxes {
            let track = try TrackFragment(box, of: movie)
            runs += track.runs.count
            guard runs <= Self.maximumRuns else { throw .tooMany("trun") }
            tracks.append(track)
        }
        try locate()
    }

    /// Finds the data of each run within the fragment's media data.
    ///
    /// An explicit base is an offset in the server's resource (ISO/IEC 14496-12 §8.8.7). Some packagers write an offset
    /// in the segment, and others an offset in the film that they divided into segments. The position of the segment in
    /// that film is unknown, so the first base then counts as the position of the `moof`. The method tries the three
    /// meanings in this order and uses the first one under which all runs lie in the media data.
    private mutating func locate() throws(MediaError) {
        guard let base = tracks.lazy.compactMap(\.explicitBase).first else { return try locate(shift: 0) }
        for shift in [-stored.resourcePosition, 0] {
            // After an error the next meaning is tried; the last one throws its error.
            if (try? locate(shift: shift)) != nil { return }
        }
        try locate(shift: stored.moofPosition - base)
    }

    private mutating func locate(shift: Int64) throws(MediaError) {
        var located = tracks
        var end = stored.moofPosition
        for track in located.indices {
            // Without any base the data of a track follows that of the track before (§8.8.7.1).
            let base =
                located[track].explicitBase.map { $0.addingClamped(shift) }
                ?? (located[track].baseIsMoof || track == 0 ? stored.moofPosition : end)
            var next = base
            for run in located[track].runs.indices {
                let start = located[track].runs[run].offset.map { base.addingClamped(Int64($0)) } ?? next
                next = start.addingClamped(located[track].runs[run].size)
                guard let place = stored.placeInData(of: start, to: next) else {
                    throw .invalid("trun", "its samples lie outside of the fragment's media data")
                }
                located[track].runs[run].place = place
            }
            end = next
        }
        tracks = located
    }
}

extension StoredFragment {
    /// Offset of bytes in the joined media data, or `nil` if they lie outside of it.
    func placeInData(of start: Int64, to end: Int64) -> Int64? {
        var before: Int64 = 0
        for range in data {
            if range.lowerBound <= start, end <= range.upperBound { return before + (start - range.lowerBound) }
            before += Int64(range.count)
        }
        return start == end ? 0 : nil
    }
}

/// The part of a fragment that belongs to one track: a `traf` box.
struct TrackFragment: Sendable {
    /// Index in ``FragmentedMovie/tracks``.
    let track: Int
    /// `base_data_offset` of `tfhd`.
    let explicitBase: Int64?
    let baseIsMoof: Bool
    /// Flags of `tfhd`, and its fields after `base_data_offset`.
    let flags: UInt32
    let fields: ArraySlice<UInt8>
    /// Decode time of the first sample; `nil` if the samples begin where the track's last fragment ended.
    let decodeTime: Int64?
    var runs: [TrackRun] = []
    /// Boxes that describe samples by their numbers and are valid at any position, such as sample groups.
    let kept: [Box]

    /// Length of all samples in ticks.
    let duration: Int64
    /// Presentation times counted from the first sample's decode time.
    let earliest: Int64
    let latest: Int64
    /// Whether a player can begin here.
    var startsWithSync: Bool { runs.first { $0.count > 0 }?.startsWithSync ?? false }

    init(_ traf: Box, of movie: FragmentedMovie) throws(MediaError) {
        let boxes = try Box.all(in: traf.content, limit: MovieFragment.maximumRuns)
        var header = BoxReader(try boxes.required("tfhd", in: "traf"))
        flags = try header.versionAndFlags().flags
        let number = try header.uint32()
        guard let track = movie.tracks.firstIndex(where: { $0.id == number }) else {
            throw .invalid("tfhd", "the film has no track \(number)")
        }
        self.track = track
        explicitBase = flags & 0x1 != 0 ? Int64(clamping: try header.uint64()) : nil
        baseIsMoof = flags & 0x2_0000 != 0

        var defaults = movie.tracks[track].defaults
        let start = header.rest
        if flags & 0x2 != 0 { defaults.description = try header.uint32() }
        if flags & 0x8 != 0 { defaults.duration = try header.uint32() }
        if flags & 0x10 != 0 { defaults.size = try header.uint32() }
        if flags & 0x20 != 0 { defaults.flags = try header.uint32() }
        fields = start[..<header.rest.startIndex]

        decodeTime = try boxes.first("tfdt").map { box throws(MediaError) in
            var reader = BoxReader(box)
            let (version, _) = try reader.versionAndFlags()
            let time = version == 1 ? try reader.uint64() : UInt64(try reader.uint32())
            // Leaves room for durations and for differences of times.
            guard time < 1 << 61 else { throw .invalid("tfdt", "its time lies beyond any film") }
            return Int64(time)
        }
        kept = boxes.filter { ["sbgp", "sgpd", "subs", "sdtp"].contains($0.type) }

        var span = SampleSpan()
        for box in boxes where box.type == "trun" { runs.append(try TrackRun(box, defaults, &span)) }
        duration = span.duration
        earliest = span.earliest ?? 0
        latest = span.latest
    }
}

/// The times that samples cover, counted from the first one's decode time.
struct SampleSpan: Sendable {
    var duration: Int64 = 0
    var earliest: Int64?
    var latest: Int64 = 0

    mutating func add(_ count: UInt32, duration each: UInt32, composition: Int32) throws(MediaError) {
        guard count > 0 else { return }
        let start = duration.addingClamped(Int64(composition))
        earliest = min(earliest ?? start, start)
        // The product is below 2^64. Clamps it to `Int64`.
        duration = duration.addingClamped(Int64(clamping: UInt64(count) * UInt64(each)))
        guard duration < 1 << 61 else { throw .invalid("trun", "its samples are longer than any film") }
        latest = max(latest, duration + Int64(composition))
    }
}

/// A run of samples whose data lies together: a `trun` box.
struct TrackRun: Sendable {
    let version: UInt8
    let flags: UInt32
    let count: UInt32
    /// `data_offset`.
    let offset: Int32?
    /// The fields after `data_offset`, and those of each sample.
    let fields: ArraySlice<UInt8>
    /// Bytes of all samples.
    let size: Int64
    let startsWithSync: Bool
    /// Offset of the first sample in the fragment's media data.
    var place: Int64 = 0

    init(_ box: Box, _ defaults: FragmentedMovie.SampleDefaults, _ span: inout SampleSpan) throws(MediaError) {
        var reader = BoxReader(box)
        (version, flags) = try reader.versionAndFlags()
        count = try reader.uint32()
        offset = flags & 0x1 != 0 ? Int32(bitPattern: try reader.uint32()) : nil
        let start = reader.rest
        var first = flags & 0x4 != 0 ? try reader.uint32() : nil

        if flags & 0xf00 == 0 {
            // Equal samples have no fields, so a count of 2^32 costs nothing.
            size = Int64(clamping: UInt64(count) * UInt64(defaults.size))
            try span.add(count, duration: defaults.duration, composition: 0)
        } else {
            var total: Int64 = 0
            for index in 0..<count {
                let duration = flags & 0x100 != 0 ? try reader.uint32() : defaults.duration
                total += Int64(flags & 0x200 != 0 ? try reader.uint32() : defaults.size)
                if flags & 0x400 != 0 {
                    let own = try reader.uint32()
                    if index == 0, first == nil { first = own }
                }
                // Version 0 is unsigned, but packagers write negative numbers too.
                let composition = flags & 0x800 != 0 ? Int32(bitPattern: try reader.uint32()) : 0
                try span.add(1, duration: duration, composition: composition)
            }
            size = total
        }
        fields = start[..<reader.rest.startIndex]
        startsWithSync = (first ?? defaults.flags) & 0x1_0000 == 0
    }
}
