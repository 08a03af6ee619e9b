/// Puts the renditions of a stream together into one `.mp4`, fragment after fragment.
///
/// Reads neither samples nor codecs. Joins the `moov` boxes into one, and gives each fragment a new description in
/// front of the same media data. The caller answers ``wanted`` with ``take(_:of:)`` or ``end(_:)``, writes what
/// ``output()`` returns, and at the end what ``finish()`` returns. At most one segment's descriptions of each rendition
/// are in memory, and an index of bounded size.
///
/// Duration: `mehd` tells players the time from 0 to the last sample's end. The time before the first sample is
/// removed from all tracks alike; see ``StartShift``.
package struct MovieMerge: Sendable {
    /// Maximum number of renditions in a film.
    package static let maximumRenditions = 32

    /// One rendition of the stream: its init section, and what the playlist says.
    package struct Rendition: Sendable {
        package let movie: FragmentedMovie
        /// BCP 47 tag for the sound tracks; `nil` to keep the language of the init section.
        package let language: String?
        /// Whether to leave out the sound tracks, because the sound of the variant is a rendition of its own.
        package let leavesOutSound: Bool

        package init(_ movie: FragmentedMovie, language: String? = nil, leavesOutSound: Bool = false) {
            self.movie = movie
            self.language = language
            self.leavesOutSound = leavesOutSound
        }
    }

    /// Maximum number of tracks in a film.
    static let maximumTracks = 64

    private let renditions: [Rendition]
    private let timescale: UInt32
    private let tracks: [MovieHeader.Track]
    /// The track whose fragments begin a group: the first track with pictures, or else the first track.
    private let reference: MovieHeader.Track
    private var queues: [FragmentQueue]
    private var index: FragmentIndex
    private var start: Start?
    private var group = FragmentGroup()
    private var sequence: UInt32 = 0
    private var position: Int64 = 0
    private var pieces: [OutputPiece] = []

    /// The film's beginning, known with the first fragment of each track.
    private struct Start: Sendable {
        let header: MovieHeader
        var times: FilmTimes
    }

    /// - Parameters:
    ///   - renditions: The rendition with the pictures first.
    ///   - fragments: Number of segments of the longest rendition, for the size of the index; `Int.max` for a live
    ///     stream, whose number of segments is unknown.
    package init(_ renditions: [Rendition], fragments: Int) throws(MediaError) {
        guard renditions.count <= Self.maximumRenditions else { throw .tooMany("moov") }
        self.renditions = renditions
        timescale = MovieHeader.timescale(renditions.map(\.movie))
        var tracks: [MovieHeader.Track] = []
        queues = []
        for (position, rendition) in renditions.enumerated() {
            var numbers: [UInt32?] = []
            for track in rendition.movie.tracks {
                let isSound = track.handler == "soun"
                guard !(isSound && rendition.leavesOutSound) else {
                    numbers.append(nil)
                    continue
                }
                let number = UInt32(tracks.count + 1)
                tracks.append(
                    MovieHeader.Track(
                        track: track,
                        number: number,
                        movie: position,
                        sourceTimescale: rendition.movie.timescale,
                        language: isSound ? rendition.language : nil
                    )
                )
                numbers.append(number)
            }
            guard numbers.contains(where: { $0 != nil }) else { throw .noFragments(rendition: position) }
            queues.append(FragmentQueue(rendition.movie, numbers: numbers))
        }
        guard tracks.count <= Self.maximumTracks else { throw .tooMany("trak") }
        guard let reference = tracks.first(where: { $0.track.handler == "vide" }) ?? tracks.first else {
            throw .missing("trak", in: "moov")
        }
        self.reference = reference
        self.tracks = tracks
        queues[reference.movie].reference = reference.number
        index = FragmentIndex(tracks: tracks, reference: reference, fragments: fragments)
    }

    /// The rendition whose next segment is needed, or `nil` when all have ended.
    package var wanted: Int? {
        queues.firstIndex { !$0.hasEnded && ($0.isEmpty || start == nil && !$0.knowsStart) }
    }

    /// Checks an init section that the playlist of a rendition names later on.
    ///
    /// - Throws: ``MediaError/changedInitSection`` if it differs from the rendition's first init section.
    package func check(_ movie: FragmentedMovie, of rendition: Int) throws(MediaError) {
        guard renditions.indices.contains(rendition), renditions[rendition].movie.isSame(as: movie) else {
            throw .changedInitSection
        }
    }

    /// Takes the fragments of a rendition's next segment.
    package mutating func take(_ fragments: [StoredFragment], of rendition: Int) throws(MediaError) {
        guard queues.indices.contains(rendition) else { return }
        for stored in fragments { try queues[rendition].append(stored) }
        try advance()
    }

    /// Notes that a rendition has no more segments.
    package mutating func end(_ rendition: Int) throws(MediaError) {
        guard queues.indices.contains(rendition) else { return }
        queues[rendition].hasEnded = true
        guard !queues[rendition].isUnused else { throw .noFragments(rendition: rendition) }
        try advance()
    }

    /// Returns the pieces that can be written now, each once.
    package mutating func output() -> [OutputPiece] {
        defer { pieces = [] }
        return pieces
    }

    /// Ends the film. The caller writes the pieces, and then the patches over what it has written.
    package mutating func finish() throws(MediaError) -> (pieces: [OutputPiece], patches: [OutputPatch]) {
        for rendition in queues.indices where !queues[rendition].hasEnded { try end(rendition) }
        try flush()
        guard let start else { throw .noFragments(rendition: 0) }
        let roomPosition = Int64(start.header.bytes.count)
        var duration: [UInt8] = []
        duration.append(bigEndian: start.times.duration)
        let index = index.bytes(first: roomPosition + Int64(index.room), end: (position, start.times.ends))
        return (
            output(),
            [
                OutputPatch(position: start.header.durationPosition, bytes: duration),
                OutputPatch(position: roomPosition, bytes: index),
            ]
        )
    }

    // MARK: Steps

    private mutating func advance() throws(MediaError) {
        guard start != nil || queues.allSatisfy({ $0.hasEnded || $0.knowsStart }) else { return }
        if start == nil { try begin() }
        while queues.allSatisfy({ $0.hasEnded || !$0.isEmpty }) {
            // At equal times the reference track is first, so that its group takes in the others.
            var next = reference.movie
            for rendition in queues.indices {
                guard let key = queues[rendition].first?.key else { continue }
                if queues[next].first.map({ key < $0.key }) ?? true { next = rendition }
            }
            guard let pending = queues[next].removeFirst() else { return }
            try append(pending, of: next)
        }
    }

    private mutating func append(_ pending: FragmentQueue.Pending, of rendition: Int) throws(MediaError) {
        guard let start else { return }
        var parts: [FragmentGroup.Part] = []
        for (track, time) in zip(pending.fragment.tracks, pending.times) {
            guard let number = queues[rendition].numbers[track.track] else { continue }
            guard let shifted = start.times.shifted(time, of: number) else {
                throw .timeGoesBack(track: renditions[rendition].movie.tracks[track.track].id)
            }
            parts.append(FragmentGroup.Part(samples: track, number: number, time: shifted))
        }
        if pending.isReference || !group.hasRoom(for: pending.fragment) { try flush() }
        group.append(FragmentGroup.Member(stored: pending.fragment.stored, parts: parts))
        if pending.isReference { group.startsWithSync = pending.startsWithSync }
    }

    private mutating func flush() throws(MediaError) {
        guard !group.isEmpty, start != nil else { return }
        let times = start?.times.take(group) ?? []
        if let isSync = group.startsWithSync { index.add(times: times, position: position, isSync: isSync) }
        sequence &+= 1
        write(.bytes(try group.description(sequence: sequence)))
        for piece in group.data { write(piece) }
        group = FragmentGroup()
    }

    private mutating func write(_ piece: OutputPiece) {
        position = position.addingClamped(piece.length)
        pieces.append(piece)
    }

    private mutating func begin() throws(MediaError) {
        let starts = tracks.map { queues[$0.movie].start(of: $0.number) }
        let times = FilmTimes(tracks, starts: starts, timescale: timescale)
        let cut = zip(tracks, times.cuts).map { track, cut in
            var track = track
            track.emptyCut = cut.empty
            return track
        }
        let header = try MovieHeader(cut, of: renditions.map(\.movie), timescale: timescale)
        start = Start(header: header, times: times)
        write(.bytes(header.bytes))
        write(.bytes(.box("free", [UInt8](repeating: 0, count: index.room - 8))))
    }
}
