/// Marks in the stream of received bytes: the last note in the store, the bytes that the metrics have counted, the time
/// of the last sync, and the speed.
struct ProgressMarks {
    /// Whether the folder of a new partial file still has to be synced, to make the file's name durable.
    var needsFolderSync = false
    private var meter = RateMeter()
    private var lastSync = Instant.start
    private var isSyncing = false
    /// Ranges of the last note for the open file; `nil` before the first note.
    private var noted: PersistedRanges?
    /// Number of bytes that the metrics have counted.
    private var counted: Int64 = 0

    // MARK: Store

    /// - Returns: whether the ranges differ from the last note, so that the caller has to note them.
    mutating func note(_ persisted: PersistedRanges) -> Bool {
        guard persisted != noted else { return false }
        noted = persisted
        return true
    }

    /// Forgets the last note, because another file is open.
    mutating func forgetNote() { noted = nil }

    /// Notes that the store has recorded an empty file.
    mutating func noteEmpty() { noted = .zero }

    // MARK: Sync

    /// Starts the interval until the next sync.
    mutating func restartInterval(at now: Instant) { lastSync = now }

    /// Begins a sync if the last one is `interval` ago and none is under way.
    mutating func beginSync(at now: Instant, every interval: Duration) -> Bool {
        guard now - lastSync >= interval, !isSyncing else { return false }
        isSyncing = true
        return true
    }

    mutating func endSync(at now: Instant) {
        lastSync = now
        isSyncing = false
    }

    // MARK: Speed and metrics

    mutating func restartMeter(_ count: Int64, at now: Instant) {
        meter.reset()
        meter.record(count, at: now)
    }

    mutating func measure(_ count: Int64, at now: Instant) { meter.record(count, at: now) }

    /// Bytes per second at `now`.
    func speed(at now: Instant) -> Double { meter.bytesPerSecond(at: now) }

    /// - Returns: the number of bytes since the last call. Negative if bytes were given up.
    mutating func count(_ count: Int64) -> Int64 {
        defer { counted = count }
        return count - counted
    }
}
