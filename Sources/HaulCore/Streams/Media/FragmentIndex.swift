/// The index of a film (`sidx`, ISO/IEC 14496-12 §8.16.3): where its fragments lie and which time they have.
///
/// Each track has a box of its own, because players seek in a sound by the ticks of that sound. The boxes stand before
/// the fragments. They are written last, into room that was left for them. A full index drops every other entry, so
/// that a bounded number of entries covers films of any length.
struct FragmentIndex: Sendable {
    private struct Entry: Sendable {
        /// Earliest presentation time of each track from `position` on, in ticks of the track.
        let times: [Int64]
        let position: Int64
        let isSync: Bool
    }

    /// Maximum number of entries of a track. They take 48 KiB.
    static let maximumEntries = 4096

    private let tracks: [MovieHeader.Track]
    /// Index of the reference track in `tracks`.
    private let reference: Int
    private let capacity: Int
    private var entries: [Entry] = []
    /// Number of fragments for which the index gets one entry. Counts only fragments at which a player can begin.
    private var stride = 1
    private var skipped = 0

    /// - Parameters:
    ///   - reference: The track at whose sync samples a player can begin.
    ///   - fragments: Number of fragments that are expected.
    init(tracks: [MovieHeader.Track], reference: MovieHeader.Track, fragments: Int) {
        self.tracks = tracks
        self.reference = tracks.firstIndex { $0.number == reference.number } ?? 0
        capacity = max(16, min(fragments, Self.maximumEntries))
    }

    /// Length in bytes of the room for the index and for a `free` box, which fills the rest of the room.
    var room: Int { 8 + tracks.count * Self.length(capacity) }

    private static func length(_ entries: Int) -> Int { 40 + 12 * entries }

    /// Notes a fragment of the film.
    ///
    /// - Parameters:
    ///   - times: First time at which each track is shown from here on, in ticks of the track.
    ///   - position: Position of its `moof` in the film.
    ///   - isSync: Whether a player can begin with it.
    mutating func add(times: [Int64], position: Int64, isSync: Bool) {
        guard times.count == tracks.count else { return }
        guard let last = entries.last else {
            entries.append(Entry(times: times, position: position, isSync: isSync))
            return
        }
        // Skips a time that does not grow, because its entry would have no length.
        guard isSync, times[reference] > last.times[reference] else { return }
        skipped += 1
        guard skipped >= stride else { return }
        skipped = 0
        if entries.count == capacity {
            entries = entries.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
            stride *= 2
        }
        entries.append(Entry(times: times, position: position, isSync: isSync))
    }

    /// The bytes that fill the room: `free` and the index, or `free` alone if the film is too long for an index.
    ///
    /// - Parameters:
    ///   - first: Position of the first byte after the room.
    ///   - end: Position of the film's end, and the time at which each track ends.
    func bytes(first: Int64, end: (position: Int64, times: [Int64])) -> [UInt8] {
        let boxes = entries.isEmpty ? nil : try? index(first: first, end: end)
        let index = boxes ?? []
        return .box("free", [UInt8](repeating: 0, count: room - 8 - index.count)) + index
    }

    /// A size or a length of time that `sidx` cannot express.
    private struct OutOfRange: Error {}

    private func index(first: Int64, end: (position: Int64, times: [Int64])) throws(OutOfRange) -> [UInt8] {
        var index: [UInt8] = []
        for (track, time) in zip(tracks.indices, end.times) {
            // The boxes of the tracks that follow lie between this one and the first fragment.
            let between = (tracks.count - 1 - track) * Self.length(entries.count)
            let times = entries.map { $0.times[track] } + [time]
            var box: [UInt8] = []
            box.append(bigEndian: tracks[track].number)
            box.append(bigEndian: tracks[track].track.timescale)
            box.append(bigEndian: times[0])
            box.append(bigEndian: UInt64(between))
            box.append(bigEndian: UInt32(entries.count))
            for (number, entry) in entries.enumerated() {
                // The bytes before the first entry's fragment belong to that entry.
                let from = number == 0 ? first : entry.position
                let to = number + 1 < entries.count ? entries[number + 1].position : end.position
                guard (0..<1 << 31).contains(to - from),
                    let duration = UInt32(exactly: max(0, times[number + 1] - times[number]))
                else { throw OutOfRange() }
                box.append(bigEndian: UInt32(to - from))
                box.append(bigEndian: duration)
                // A stream access point of type 1, or none.
                let isSync = track == reference ? entry.isSync : tracks[track].track.handler == "soun"
                box.append(bigEndian: UInt32(isSync ? 0x9000_0000 : 0))
            }
            index += [UInt8].fullBox("sidx", version: 1, box)
        }
        return index
    }
}
