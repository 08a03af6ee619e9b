/// The `ftyp` and `moov` of the finished film, made from the init sections of its renditions.
struct MovieHeader: Sendable {
    /// A track of the film.
    struct Track: Sendable {
        let track: FragmentedMovie.Track
        let number: UInt32
        /// Index of the rendition that the track comes from, and ticks per second of that rendition's movie.
        let movie: Int
        let sourceTimescale: UInt32
        /// BCP 47 tag; `nil` to keep the language that the init section names.
        let language: String?
        /// Ticks of the film that are taken from the empty edit.
        var emptyCut: Int64 = 0
    }

    let bytes: [UInt8]
    /// Offset of the film's duration in `bytes`. An ``OutputPatch`` replaces the 0 there once the duration is known.
    let durationPosition: Int64

    init(_ tracks: [Track], of movies: [FragmentedMovie], timescale: UInt32) throws(MediaError) {
        var moov = try Self.movieHeader(movies, timescale: timescale, nextTrack: UInt32(tracks.count + 1))
        let hasSeveralSounds = tracks.count { $0.track.handler == "soun" } > 1
        let firstSound = tracks.first { $0.track.handler == "soun" }?.number
        for track in tracks {
            var role = TrackRole.only
            if hasSeveralSounds, track.track.handler == "soun" {
                role = track.number == firstSound ? .firstOfSeveral : .oneOfSeveral
            }
            moov += try track.box(timescale: timescale, role: role, siblings: tracks)
        }
        // Keeps names and pictures of the first rendition. Leaves out `iods` and `pssh`, which describe parts that the
        // film does not have.
        for box in movies.first?.boxes ?? [] where box.type == "udta" || box.type == "meta" { moov += box.bytes }

        var extends: [UInt8] = .fullBox("mehd", version: 1, [UInt8](repeating: 0, count: 8))
        for track in tracks { extends += track.defaults }
        let mvex = [UInt8].box("mvex", extends)
        bytes = .box("ftyp", Self.brands(movies)) + [UInt8].box("moov", moov + mvex)
        durationPosition = Int64(bytes.count - mvex.count + 8 + 12)
    }

    /// The brands of a file that counts offsets from `moof` and has edit lists. Keeps the brands of codecs, but not
    /// those of a single segment or a single track (CMAF), which do not hold for the film.
    private static func brands(_ movies: [FragmentedMovie]) -> [UInt8] {
        var brands: [BoxType] = ["iso6", "iso5", "isom", "mp41"]
        let kept: Set<BoxType> = ["mp42", "avc1", "hvc1", "dby1", "av01", "iso8", "iso9"]
        for brand in movies.flatMap(\.brands) where kept.contains(brand) && !brands.contains(brand) {
            brands.append(brand)
        }
        var bytes: [UInt8] = []
        bytes.append(bigEndian: brands[0].rawValue)
        bytes.append(bigEndian: UInt32(512))
        for brand in brands { bytes.append(bigEndian: brand.rawValue) }
        return bytes
    }

    /// `mvhd` of the first movie, with the film's clock. The duration is 0, because all samples are in fragments.
    private static func movieHeader(
        _ movies: [FragmentedMovie],
        timescale: UInt32,
        nextTrack: UInt32
    ) throws(MediaError) -> [UInt8] {
        let box = try (movies.first?.boxes ?? []).required("mvhd", in: "moov")
        var reader = BoxReader(box)
        let (version, _) = try reader.versionAndFlags()
        try reader.skip(version == 1 ? 28 : 16)
        // Rate, volume, matrix and the next track's number.
        guard reader.rest.count >= 80 else { throw .truncated("mvhd") }
        var content = [UInt8](repeating: 0, count: 8)
        content.append(bigEndian: timescale)
        content.append(bigEndian: UInt32(0))
        content += reader.rest.prefix(76)
        content.append(bigEndian: nextTrack)
        return .fullBox("mvhd", content)
    }

    /// Returns the ticks per second of a clock that expresses the ticks of all movies, or those of the first movie if
    /// such a clock exceeds 32 bits.
    static func timescale(_ movies: [FragmentedMovie]) -> UInt32 {
        let first = movies.first?.timescale ?? 1000
        let common = movies.reduce(first as UInt32?) { $0?.commonMultiple($1.timescale) }
        return common ?? first
    }
}

/// Whether a track is one of several sounds. A player chooses among these instead of playing all at once.
enum TrackRole: Sendable {
    case only, firstOfSeveral, oneOfSeveral
}

extension MovieHeader.Track {
    /// `trex`.
    fileprivate var defaults: [UInt8] {
        var content: [UInt8] = []
        content.append(bigEndian: number)
        for value in [track.defaults.description, track.defaults.duration, track.defaults.size, track.defaults.flags] {
            content.append(bigEndian: value)
        }
        return .fullBox("trex", content)
    }

    fileprivate func box(timescale: UInt32, role: TrackRole, siblings: [Self]) throws(MediaError) -> [UInt8] {
        var content: [UInt8] = []
        for box in track.boxes {
            switch box.type {
            case "tkhd": content += try header(box, role)
            case "edts": content += edits(timescale)
            case "tref": content += try references(box, siblings)
            case "mdia": content += try media(box)
            default: content += box.bytes
            }
        }
        return .box("trak", content)
    }

    private func header(_ box: Box, _ role: TrackRole) throws(MediaError) -> [UInt8] {
        var reader = BoxReader(box)
        var (version, flags) = try reader.versionAndFlags()
        try reader.skip(version == 1 ? 32 : 20)
        // The last 60 bytes of the box: 8 reserved bytes, layer, alternate group, volume, 2 reserved bytes, matrix,
        // width and height.
        guard reader.rest.count >= 60 else { throw .truncated("tkhd") }
        var rest = Array(reader.rest.prefix(60))
        if role != .only {
            // The flag 1 means enabled. The field at offset 10 of `rest` is the number of the group of alternatives.
            flags = role == .firstOfSeveral ? flags | 1 : flags & ~1
            rest.write(bigEndian: UInt16(1), at: 10)
        }
        var content = [UInt8](repeating: 0, count: 8)
        content.append(bigEndian: number)
        content += [UInt8](repeating: 0, count: 8)
        return .fullBox("tkhd", flags: flags, content + rest)
    }

    /// Returns the edit list of the track, with durations in ticks of the film's clock.
    private func edits(_ timescale: UInt32) -> [UInt8] {
        var content: [UInt8] = []
        var count: UInt32 = 0
        for (index, edit) in track.edits.enumerated() {
            var duration = MediaTime(ticks: Int64(clamping: edit.duration), scale: sourceTimescale).ticks(of: timescale)
            if index == 0, edit.isEmpty {
                duration -= min(duration, emptyCut)
                // An empty edit of the length 0 would reach to the end.
                if duration == 0 { continue }
            }
            count += 1
            content.append(bigEndian: duration)
            content.append(bigEndian: edit.mediaTime)
            content.append(bigEndian: edit.rate)
        }
        guard count > 0 else { return [] }
        var list: [UInt8] = []
        list.append(bigEndian: count)
        return .box("edts", [UInt8].fullBox("elst", version: 1, list + content))
    }

    /// References to other tracks of the same movie, with their new numbers.
    private func references(_ box: Box, _ siblings: [Self]) throws(MediaError) -> [UInt8] {
        var content: [UInt8] = []
        for kind in try Box.all(in: box.content, limit: 64) {
            var reader = BoxReader(kind)
            var numbers: [UInt8] = []
            while reader.rest.count >= 4, numbers.count < 256 {
                let old = try reader.uint32()
                guard let new = siblings.first(where: { $0.movie == movie && $0.track.id == old }) else { continue }
                numbers.append(bigEndian: new.number)
            }
            if !numbers.isEmpty { content += [UInt8].box(kind.type, numbers) }
        }
        return content.isEmpty ? [] : .box("tref", content)
    }

    private func media(_ box: Box) throws(MediaError) -> [UInt8] {
        var content: [UInt8] = []
        for child in try Box.all(in: box.content) {
            switch child.type {
            case "mdhd": content += try mediaHeader(child)
            case "elng" where language != nil: continue
            default: content += child.bytes
            }
        }
        return .box("mdia", content)
    }

    /// `mdhd` without a duration, and `elng` with the whole tag of the language.
    private func mediaHeader(_ box: Box) throws(MediaError) -> [UInt8] {
        var reader = BoxReader(box)
        let (version, _) = try reader.versionAndFlags()
        try reader.skip(version == 1 ? 28 : 16)
        let own = try reader.uint16()
        var content = [UInt8](repeating: 0, count: 8)
        content.append(bigEndian: track.timescale)
        content.append(bigEndian: UInt32(0))
        content.append(bigEndian: language.map(LanguageCode.packed) ?? own)
        content.append(bigEndian: UInt16(0))
        guard let language, language.utf8.count < 64, language.utf8.allSatisfy({ (0x2d..<0x7b).contains($0) }) else {
            return .fullBox("mdhd", content)
        }
        return .fullBox("mdhd", content) + [UInt8].fullBox("elng", Array(language.utf8) + [0])
    }
}
