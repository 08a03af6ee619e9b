import Testing

@testable import HaulCore

/// Makes init sections and segments, box by box.
struct TestMovie {
    struct Track {
        var id: UInt32 = 1
        var handler: BoxType = "vide"
        var timescale: UInt32 = 1000
        /// Duration, media time.
        var edits: [(UInt32, Int32)] = []
        var sampleEntry: BoxType = "avc1"
        var hasDefaults = true
        var chunks: UInt32 = 0
    }

    var timescale: UInt32 = 1000
    var tracks = [Track()]

    static let picture = TestMovie()
    static let sound = TestMovie(tracks: [Track(handler: "soun", timescale: 500, sampleEntry: "mp4a")])

    var initSection: [UInt8] {
        var moov: [UInt8] = .fullBox("mvhd", Self.words([0, 0, timescale, 0]) + Self.zeros(76) + Self.words([9]))
        for track in tracks { moov += trak(track) }
        let defaults = tracks.filter(\.hasDefaults).flatMap {
            [UInt8].fullBox("trex", Self.words([$0.id, 1, 0, 0, 0]))
        }
        moov += [UInt8].box("mvex", defaults)
        let brands = Self.words([("iso6" as BoxType).rawValue, 0, ("dby1" as BoxType).rawValue])
        return .box("ftyp", brands) + [UInt8].box("moov", moov)
    }

    private func trak(_ track: Track) -> [UInt8] {
        var content: [UInt8] = .fullBox("tkhd", flags: 3, Self.words([0, 0, track.id, 0, 0]) + Self.zeros(60))
        if !track.edits.isEmpty {
            var list = Self.words([UInt32(track.edits.count)])
            for (duration, time) in track.edits {
                list += Self.words([duration, UInt32(bitPattern: time), 0x1_0000])
            }
            content += [UInt8].box("edts", [UInt8].fullBox("elst", list))
        }
        let header = [UInt8].fullBox("mdhd", Self.words([0, 0, track.timescale, 0, 0x55c4_0000]))
        let handler = [UInt8].fullBox("hdlr", Self.words([0, track.handler.rawValue, 0, 0, 0]) + [0])
        let entry = [UInt8].fullBox("stsd", Self.words([1]) + [UInt8].box(track.sampleEntry, Self.zeros(8)))
        let chunks = [UInt8].fullBox("stco", Self.words([track.chunks]))
        let table = [UInt8].box("minf", [UInt8].box("stbl", entry + chunks))
        return .box("trak", content + [UInt8].box("mdia", header + handler + table))
    }

    static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    static func words(_ words: [UInt32]) -> [UInt8] {
        var bytes: [UInt8] = []
        for word in words { bytes.append(bigEndian: word) }
        return bytes
    }
}

/// Makes one fragment.
struct TestFragment {
    /// How the place of the data is said.
    enum Base {
        /// Counted from `moof`, said with a flag.
        case moof
        /// Counted from `moof` without the flag; each track after the first follows the track before.
        case implicit
        /// An offset in the resource whose byte `moofAt` is the fragment's `moof`.
        case explicit(moofAt: UInt64)
    }

    struct Part {
        var id: UInt32 = 1
        var time: UInt32?
        /// Length of each sample in ticks.
        var duration: UInt32 = 100
        var samples: [[UInt8]]
        var isSync = true
    }

    var parts: [Part]
    var base = Base.moof

    init(_ parts: [Part], base: Base = .moof) {
        self.parts = parts
        self.base = base
    }

    init(at time: UInt32?, duration: UInt32 = 100, _ samples: [[UInt8]]) {
        self.init([Part(time: time, duration: duration, samples: samples)])
    }

    var bytes: [UInt8] {
        // The length of `moof` does not depend on the offsets.
        let length = UInt32(moof(dataAt: 0).count)
        let data = parts.flatMap { $0.samples.flatMap { $0 } }
        return moof(dataAt: length + 8) + [UInt8].box("mdat", data)
    }

    private func moof(dataAt start: UInt32) -> [UInt8] {
        var content: [UInt8] = .fullBox("mfhd", TestMovie.words([77]))
        var offset = start
        for (index, part) in parts.enumerated() {
            var traf: [UInt8]
            switch base {
            case .moof: traf = .fullBox("tfhd", flags: 0x2_0000, TestMovie.words([part.id]))
            case .implicit: traf = .fullBox("tfhd", TestMovie.words([part.id]))
            case .explicit(let place):
                var field: [UInt8] = []
                field.append(bigEndian: place)
                traf = .fullBox("tfhd", flags: 0x1, TestMovie.words([part.id]) + field)
            }
            if let time = part.time { traf += [UInt8].fullBox("tfdt", TestMovie.words([time])) }
            var run = TestMovie.words([UInt32(part.samples.count)])
            var flags: UInt32 = 0x704
            let follows = if case .implicit = base { index > 0 } else { false }
            if !follows {
                flags |= 0x1
                run += TestMovie.words([offset])
            }
            run += TestMovie.words([part.isSync ? 0 : 0x1_0000])
            for sample in part.samples { run += TestMovie.words([part.duration, UInt32(sample.count), 0x1_0000]) }
            offset += UInt32(part.samples.reduce(0) { $0 + $1.count })
            content += [UInt8].box("traf", traf + [UInt8].fullBox("trun", flags: flags, run))
        }
        return .box("moof", content)
    }
}

/// The film that a merge makes of segments in memory, read as a player reads it.
struct TestFilm {
    struct Sample: Equatable {
        let track: UInt32
        let time: Int64
        let bytes: [UInt8]
    }

    let bytes: [UInt8]
    let movie: FragmentedMovie
    var samples: [Sample] = []
    var sequence: [UInt32] = []
    /// Tracks of each fragment, in order.
    var tracks: [[UInt32]] = []

    /// Merges renditions and returns the film's bytes.
    static func merge(
        _ renditions: [MovieMerge.Rendition],
        _ segments: [[[UInt8]]],
        resourcePosition: Int64 = 0
    ) throws -> [UInt8] {
        var merge = try MovieMerge(renditions, fragments: segments.map(\.count).max() ?? 0)
        var next = segments.map { _ in 0 }
        var files: [[UInt8]] = []
        var film: [UInt8] = []
        func write(_ pieces: [OutputPiece]) {
            for piece in pieces {
                switch piece {
                case .bytes(let bytes): film += bytes
                case .copy(let source, let range): film += files[source][Int(range.lowerBound)..<Int(range.upperBound)]
                }
            }
        }
        while let wanted = merge.wanted {
            if next[wanted] == segments[wanted].count {
                try merge.end(wanted)
            } else {
                // The segment lies somewhere in a file.
                files.append([1, 2, 3] + segments[wanted][next[wanted]] + [4])
                next[wanted] += 1
                let range = 3..<Int64(files[files.count - 1].count - 1)
                try merge.take(
                    fragments(of: files[files.count - 1], files.count - 1, range, resourcePosition),
                    of: wanted
                )
            }
            write(merge.output())
        }
        let (pieces, patches) = try merge.finish()
        write(pieces)
        for patch in patches {
            film.replaceSubrange(Int(patch.position)..<(Int(patch.position) + patch.bytes.count), with: patch.bytes)
        }
        return film
    }

    /// Merges renditions, each an init section and the bytes of its segments, and reads the samples of the film.
    init(_ renditions: [MovieMerge.Rendition], _ segments: [[[UInt8]]], resourcePosition: Int64 = 0) throws {
        let film = try Self.merge(renditions, segments, resourcePosition: resourcePosition)
        bytes = film
        let boxes = try Box.all(in: film[...])
        movie = try FragmentedMovie(Array(boxes.prefix { $0.type != "moof" }.flatMap(\.bytes)))
        let start = boxes.prefix { $0.type != "moof" }.reduce(0) { $0 + $1.bytes.count }
        for stored in try Self.fragments(of: film, 0, Int64(start)..<Int64(film.count), 0) { try read(stored) }
    }

    /// Fragments of a segment that is a file of its own.
    static func fragments(of segment: [UInt8]) throws -> [StoredFragment] {
        try fragments(of: segment, 0, 0..<Int64(segment.count), 0)
    }

    static func fragments(
        of file: [UInt8],
        _ source: Int,
        _ range: Range<Int64>,
        _ resourcePosition: Int64
    ) throws -> [StoredFragment] {
        var scan = SegmentScan(source: source, range: range, resourcePosition: resourcePosition)
        while let wanted = scan.wanted {
            try scan.take(Array(file[Int(wanted.lowerBound)..<Int(wanted.upperBound)]))
        }
        return scan.fragments
    }

    private mutating func read(_ stored: StoredFragment) throws {
        let fragment = try MovieFragment(stored, of: movie)
        let range = try #require(stored.data.first)
        sequence.append(TestMovie.word(stored.moof, at: 20))
        tracks.append(fragment.tracks.map { movie.tracks[$0.track].id })
        for part in fragment.tracks {
            var time = part.decodeTime ?? -1
            for run in part.runs {
                var place = Int(stored.segmentPosition + range.lowerBound + run.place)
                let fields = Array(run.fields)
                for index in 0..<Int(run.count) {
                    let size = Int(TestMovie.word(fields, at: 4 + 12 * index + 4))
                    let data = Array(bytes[place..<(place + size)])
                    samples.append(Sample(track: movie.tracks[part.track].id, time: time, bytes: data))
                    time += Int64(TestMovie.word(fields, at: 4 + 12 * index))
                    place += size
                }
            }
        }
    }

    /// Samples of one track.
    func samples(of track: UInt32) -> [Sample] { samples.filter { $0.track == track } }
}

extension TestMovie {
    static func word(_ bytes: [UInt8], at position: Int) -> UInt32 {
        bytes[position..<(position + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
