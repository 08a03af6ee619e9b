/// The init section of one rendition: what `ftyp` and `moov` say about the fragments that follow.
package struct FragmentedMovie: Sendable, Hashable {
    /// Maximum length of an init section, in bytes.
    package static let maximumLength = 4 << 20
    /// Maximum number of tracks in a rendition.
    package static let maximumTracks = 32

    package let brands: [BoxType]
    /// Ticks per second of `mvhd` and of the durations in edit lists.
    package let timescale: UInt32
    package let tracks: [Track]
    /// The boxes within `moov`.
    let boxes: [Box]

    /// Reads an init section.
    ///
    /// - Throws: ``MediaError`` if it is not the beginning of a fragmented film, or if its samples are encrypted.
    package init(_ bytes: [UInt8]) throws(MediaError) {
        guard bytes.count <= Self.maximumLength else { throw .tooLarge("moov", bytes: Int64(bytes.count)) }
        try BoxHeader.checkStart(bytes[...])
        let outer = try Box.all(in: bytes[...])
        brands = try outer.first("ftyp").map(Self.brands) ?? []
        boxes = try Box.all(in: try outer.required("moov", in: "init section").content)
        timescale = try Self.timescale(boxes.required("mvhd", in: "moov"))

        let extends = try Box.all(in: try boxes.required("mvex", in: "moov").content)
        let defaults = try extends.filter { $0.type == "trex" }.map { box throws(MediaError) in
            try SampleDefaults(box)
        }
        let traks = boxes.filter { $0.type == "trak" }
        guard traks.count <= Self.maximumTracks else { throw .tooMany("trak") }
        guard !traks.isEmpty else { throw .missing("trak", in: "moov") }
        var tracks: [Track] = []
        for trak in traks {
            let track = try Track(trak, defaults: defaults)
            guard !tracks.contains(where: { $0.id == track.id }) else {
                throw .invalid("tkhd", "two tracks have the number \(track.id)")
            }
            tracks.append(track)
        }
        self.tracks = tracks
    }

    /// Whether this init section describes the same samples as `other`, so that its fragments may follow.
    package func isSame(as other: FragmentedMovie) -> Bool {
        boxes.count == other.boxes.count && zip(boxes, other.boxes).allSatisfy { $0.bytes == $1.bytes }
    }

    private static func brands(_ box: Box) throws(MediaError) -> [BoxType] {
        var reader = BoxReader(box)
        var brands = [BoxType(rawValue: try reader.uint32())]
        try reader.skip(4)
        while reader.rest.count >= 4, brands.count < 64 { brands.append(BoxType(rawValue: try reader.uint32())) }
        return brands
    }

    /// Reads the ticks per second of `mvhd` or `mdhd`, which have the same beginning.
    static func timescale(_ box: Box) throws(MediaError) -> UInt32 {
        var reader = BoxReader(box)
        let (version, _) = try reader.versionAndFlags()
        try reader.skip(version == 1 ? 16 : 8)
        let timescale = try reader.uint32()
        guard timescale > 0 else { throw .invalid(box.type, "its clock has no ticks") }
        return timescale
    }
}

extension FragmentedMovie {
    /// One track of a rendition.
    package struct Track: Sendable, Hashable {
        package let id: UInt32
        /// Ticks per second of the track's samples.
        package let timescale: UInt32
        /// `vide`, `soun`, `text`, …
        package let handler: BoxType
        /// The track's edit list, empty without one.
        package let edits: [Edit]
        let defaults: SampleDefaults
        /// The boxes within `trak`.
        let boxes: [Box]

        init(_ trak: Box, defaults: [SampleDefaults]) throws(MediaError) {
            boxes = try Box.all(in: trak.content)
            var header = BoxReader(try boxes.required("tkhd", in: "trak"))
            let (version, _) = try header.versionAndFlags()
            try header.skip(version == 1 ? 16 : 8)
            let number = try header.uint32()
            guard number > 0 else { throw .invalid("tkhd", "a track has the number 0") }
            id = number

            let media = try Box.all(in: try boxes.required("mdia", in: "trak").content)
            timescale = try FragmentedMovie.timescale(media.required("mdhd", in: "mdia"))
            var handler = BoxReader(try media.required("hdlr", in: "mdia"))
            try handler.skip(8)
            self.handler = BoxType(rawValue: try handler.uint32())
            try Self.check(sampleTable: media.required("minf", in: "mdia"))

            edits =
                try boxes.first("edts").map { box throws(MediaError) in
                    try Box.all(in: box.content).first("elst").map(Edit.all) ?? []
                } ?? []
            guard let own = defaults.first(where: { $0.track == number }) else { throw .missing("trex", in: "mvex") }
            self.defaults = own
        }

        /// The first entry of `stsd`, which describes the samples; `nil` if there is none.
        var sampleEntry: Box? {
            // No error is expected, because the initializer has read the same boxes.
            guard let media = try? boxes.first("mdia").map({ try Box.all(in: $0.content) }),
                let information = try? media.first("minf").map({ try Box.all(in: $0.content) }),
                let table = try? information.first("stbl").map({ try Box.all(in: $0.content) }),
                let descriptions = table.first("stsd")
            else { return nil }
            return try? Box.all(in: descriptions.content.dropFirst(8), limit: 256).first
        }

        /// Refuses encrypted samples, and samples outside of fragments: the init section has no data for them.
        private static func check(sampleTable minf: Box) throws(MediaError) {
            let table = try Box.all(in: try Box.all(in: minf.content).required("stbl", in: "minf").content)
            var descriptions = BoxReader(try table.required("stsd", in: "stbl"))
            try descriptions.skip(8)
            for entry in try Box.all(in: descriptions.rest, limit: 256)
            where ["encv", "enca", "enct", "encs", "encm"].contains(entry.type) {
                throw .protected
            }
            for box in table where box.type == "stco" || box.type == "co64" {
                var chunks = BoxReader(box)
                try chunks.skip(4)
                guard try chunks.uint32() == 0 else { throw .invalid(box.type, "the init section has samples") }
            }
        }
    }

    /// An entry of an edit list (ISO/IEC 14496-12 §8.6.6).
    package struct Edit: Sendable, Hashable {
        /// In ticks of the movie. 0: to the end.
        package var duration: UInt64
        /// Where the media begins, in ticks of the track. -1: nothing is shown.
        package var mediaTime: Int64
        /// Speed of playback in 16.16 fixed point.
        package var rate: UInt32

        package var isEmpty: Bool { mediaTime == -1 }

        static func all(in box: Box) throws(MediaError) -> [Edit] {
            var reader = BoxReader(box)
            let (version, _) = try reader.versionAndFlags()
            let count = try reader.uint32()
            guard count <= 1024 else { throw .tooMany("elst") }
            var edits: [Edit] = []
            for _ in 0..<count {
                let duration = version == 1 ? try reader.uint64() : UInt64(try reader.uint32())
                let time =
                    version == 1
                    ? Int64(bitPattern: try reader.uint64()) : Int64(Int32(bitPattern: try reader.uint32()))
                edits.append(Edit(duration: duration, mediaTime: time, rate: try reader.uint32()))
            }
            return edits
        }
    }

    /// Defaults in `trex` for samples without values of their own (ISO/IEC 14496-12 §8.8.3).
    struct SampleDefaults: Sendable, Hashable {
        let track: UInt32
        var description: UInt32
        var duration: UInt32
        var size: UInt32
        var flags: UInt32

        init(_ box: Box) throws(MediaError) {
            var reader = BoxReader(box)
            try reader.skip(4)
            track = try reader.uint32()
            description = try reader.uint32()
            duration = try reader.uint32()
            size = try reader.uint32()
            flags = try reader.uint32()
        }
    }
}
