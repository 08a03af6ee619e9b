/// The fragments of one rendition that wait for those of the others, and the times of its tracks.
struct FragmentQueue: Sendable {
    /// A fragment with its decode times.
    struct Pending: Sendable {
        let fragment: MovieFragment
        /// Decode time of each of the fragment's tracks.
        let times: [Int64]
        /// The time by which fragments of several renditions are put in order: the start of the reference track's
        /// samples, else the middle of the first track's samples. The sound then lies with the picture that it overlaps
        /// most.
        let key: MediaTime
        /// Whether the fragment has samples of the reference track.
        let isReference: Bool
        /// Whether the reference track can be played from here.
        let startsWithSync: Bool
    }

    /// Number of fragments after which the queue no longer waits for a track without samples.
    private static let fragmentsForStart = 8

    private let movie: FragmentedMovie
    /// The tracks' numbers in the film, by position; `nil` for a track that is left out.
    let numbers: [UInt32?]
    /// Number of the track that begins a group of fragments; `nil` if another rendition has that track.
    var reference: UInt32?
    var hasEnded = false
    private(set) var isUnused = true

    private var fragments: [Pending?] = []
    private var head = 0
    private var clocks: [Clock?]

    private struct Clock: Sendable {
        let start: Int64
        /// Decode time of the last fragment, and the end of its samples.
        var last: Int64
        var next: Int64
    }

    init(_ movie: FragmentedMovie, numbers: [UInt32?]) {
        self.movie = movie
        self.numbers = numbers
        clocks = Array(repeating: nil, count: numbers.count)
    }

    var isEmpty: Bool { head == fragments.count }
    var first: Pending? { isEmpty ? nil : fragments[head] }

    /// Whether the start of each track is known. Ignores tracks without samples once ``fragmentsForStart`` fragments
    /// wait.
    var knowsStart: Bool {
        !isEmpty
            && (fragments.count - head >= Self.fragmentsForStart
                || zip(clocks, numbers).allSatisfy { $0 != nil || $1 == nil })
    }

    /// First decode time of a track, by its number in the film.
    func start(of number: UInt32) -> Int64? {
        numbers.firstIndex(of: number).flatMap { clocks[$0]?.start }
    }

    mutating func removeFirst() -> Pending? {
        guard !isEmpty else { return nil }
        let first = fragments[head]
        fragments[head] = nil
        head += 1
        if isEmpty {
            fragments = []
            head = 0
        }
        return first
    }

    mutating func append(_ stored: StoredFragment) throws(MediaError) {
        let fragment = try MovieFragment(stored, of: movie)
        var times: [Int64] = []
        var key: MediaTime?
        var isReference = false
        var startsWithSync = false
        for part in fragment.tracks {
            let time = try note(part)
            times.append(time)
            guard let number = numbers[part.track] else { continue }
            let scale = movie.tracks[part.track].timescale
            if number == reference, part.runs.contains(where: { $0.count > 0 }) {
                if !isReference {
                    key = MediaTime(ticks: time, scale: scale)
                    isReference = true
                    startsWithSync = part.startsWithSync
                }
            } else if key == nil {
                key = MediaTime(ticks: time + part.duration / 2, scale: scale)
            }
        }
        // Ignores a fragment whose tracks are all left out.
        guard let key else { return }
        isUnused = false
        fragments.append(
            Pending(
                fragment: fragment,
                times: times,
                key: key,
                isReference: isReference,
                startsWithSync: startsWithSync
            )
        )
    }

    /// Notes the times of a track's samples and returns the decode time of the first.
    private mutating func note(_ part: TrackFragment) throws(MediaError) -> Int64 {
        let clock = clocks[part.track]
        let time = part.decodeTime ?? clock?.next ?? 0
        guard time >= clock?.last ?? time else { throw .timeGoesBack(track: movie.tracks[part.track].id) }
        let next = time + part.duration
        guard next < 1 << 62 else { throw .invalid("trun", "its samples are longer than any film") }
        clocks[part.track] = Clock(start: clock?.start ?? time, last: time, next: next)
        return time
    }
}
