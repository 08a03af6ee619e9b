/// Stay of a small file in memory, until it goes to the disk in a batch or alone.
struct SmallFileStay {
    /// Whether this downloader added the download and nothing of it has been on the disk yet. The store then has the
    /// record as it was added.
    var hasNoDiskState = false
    /// Number of bytes that wait to be brought to the disk in a batch; `nil` if none do.
    private(set) var bytesInBatch: Int?
    /// Callers that wait for the end of the batch.
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// Time at which the buffer was created, before the first byte arrived.
    private var since = Instant.start
    /// Whether the disk refused the buffered bytes. The disk is not tried again before the file is complete.
    private var isRefused = false

    mutating func begin(at now: Instant) { since = now }

    mutating func refusedByDisk() { isRefused = true }

    /// Whether the file has to go to the disk although it is not complete.
    func isOver(at now: Instant, after limit: Duration) -> Bool { !isRefused && now - since >= limit }

    // MARK: Batch

    mutating func enterBatch(_ bytes: Int) { bytesInBatch = bytes }

    /// Resumes `continuation` when the download leaves its batch.
    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) { waiting.append(continuation) }

    /// Ends the stay in the batch, and resumes the callers that wait.
    mutating func leaveBatch() {
        bytesInBatch = nil
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
