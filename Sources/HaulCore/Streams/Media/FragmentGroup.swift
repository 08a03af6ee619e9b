/// Fragments of several renditions that become one fragment of the film: one `moof` with all their samples, and one
/// `mdat`. A player that goes to the fragment finds the picture and its sound in one place.
struct FragmentGroup: Sendable {
    /// Maximum number of `traf` boxes in a group, far more than a segment of pictures and one of sound have together.
    static let maximumTracks = 512
    /// Maximum number of bytes of media data in a group, far more than a segment of pictures and one of sound have
    /// together.
    static let maximumData: Int64 = 1 << 30

    /// A fragment, and its samples of tracks that are in the film.
    struct Member: Sendable {
        let stored: StoredFragment
        let parts: [Part]
    }

    /// The samples of one track, the track's number in the film, and their first decode time there.
    struct Part: Sendable {
        let samples: TrackFragment
        let number: UInt32
        let time: Int64
    }

    private(set) var members: [Member] = []
    private var tracks = 0
    private(set) var dataLength: Int64 = 0

    /// Whether a player can begin with the group, or `nil` if it has no samples of the reference track.
    var startsWithSync: Bool?

    var isEmpty: Bool { members.isEmpty }

    /// Whether one more fragment fits.
    func hasRoom(for fragment: MovieFragment) -> Bool {
        tracks + fragment.tracks.count <= Self.maximumTracks
            && dataLength.addingClamped(fragment.stored.dataLength) <= Self.maximumData
    }

    mutating func append(_ member: Member) {
        members.append(member)
        tracks += member.parts.count
        dataLength = dataLength.addingClamped(member.stored.dataLength)
    }

    /// The group's `moof` and the header of its `mdat`. The media data follows as in ``data``.
    ///
    /// Each position is counted from the `moof`, so that the fragment may lie anywhere.
    func description(sequence: UInt32) throws(MediaError) -> [UInt8] {
        var moof: [UInt8] = []
        moof.append(bigEndian: UInt32(0))
        moof.append(bigEndian: ("moof" as BoxType).rawValue)
        var number: [UInt8] = []
        number.append(bigEndian: sequence)
        moof += [UInt8].fullBox("mfhd", number)
        /// Where the offset of a run is written, and its data's place in `mdat`.
        var offsets: [(at: Int, place: Int64)] = []
        var before: Int64 = 0
        for member in members {
            for part in member.parts {
                let start = moof.count
                moof.append(bigEndian: UInt32(0))
                moof.append(bigEndian: ("traf" as BoxType).rawValue)
                part.appendHeader(to: &moof)
                for run in part.samples.runs {
                    offsets.append((moof.count + 16, before.addingClamped(run.place)))
                    run.append(to: &moof)
                }
                for box in part.samples.kept { moof += box.bytes }
                moof.write(bigEndian: UInt32(clamping: moof.count - start), at: start)
            }
            before = before.addingClamped(member.stored.dataLength)
        }
        let header = [UInt8].mediaDataHeader(contentLength: dataLength)
        moof.write(bigEndian: UInt32(clamping: moof.count), at: 0)
        let base = Int64(moof.count + header.count)
        for (at, place) in offsets {
            guard let offset = Int32(exactly: base.addingClamped(place)) else {
                throw .tooLarge("mdat", bytes: dataLength)
            }
            moof.write(bigEndian: offset, at: at)
        }
        return moof + header
    }

    /// The media data, to be copied from the files of the segments.
    var data: [OutputPiece] {
        members.flatMap { member in
            let stored = member.stored
            return stored.data.filter { !$0.isEmpty }.map { range in
                OutputPiece.copy(
                    source: stored.source,
                    range: (stored.segmentPosition + range.lowerBound)..<(stored.segmentPosition + range.upperBound)
                )
            }
        }
    }
}

extension FragmentGroup.Part {
    /// Writes `tfhd` and `tfdt`. Drops a base offset, because all offsets of the film count from `moof`.
    fileprivate func appendHeader(to moof: inout [UInt8]) {
        var header: [UInt8] = []
        header.append(bigEndian: number)
        moof += [UInt8].fullBox("tfhd", flags: samples.flags & ~0x1 | 0x2_0000, header + samples.fields)
        var decodeTime: [UInt8] = []
        decodeTime.append(bigEndian: time)
        moof += [UInt8].fullBox("tfdt", version: 1, decodeTime)
    }
}

extension TrackRun {
    /// Writes the run with room for `data_offset`, 16 bytes after its beginning.
    fileprivate func append(to moof: inout [UInt8]) {
        var run: [UInt8] = []
        run.append(bigEndian: count)
        run.append(bigEndian: Int32(0))
        moof += [UInt8].fullBox("trun", version: version, flags: flags | 0x1, run + fields)
    }
}
