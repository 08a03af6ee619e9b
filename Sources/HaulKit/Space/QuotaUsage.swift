/// How many bytes the files of a downloader take, kept up to date without asking the store each time.
struct QuotaUsage: Sendable {
    /// Bytes of the downloads that do nothing now; nil until the store has been asked.
    private var settled: Int64?
    /// What each that runs has, or has set aside for itself.
    private(set) var running: [DownloadID: Int64] = [:]
    private var runningSum: Int128 = 0
    /// Changes with every change of who runs: a sum of the store is good only for those who ran when it was made.
    private(set) var generation = 0
    /// When it was last looked whether the finished files are still there.
    var recountedAt: Instant?

    var isKnown: Bool { settled != nil }

    /// All of them.
    var used: Int64 { Int64(clamping: Int128(settled ?? 0) + runningSum) }
    func used(besides id: DownloadID) -> Int64 {
        Int64(clamping: Int128(settled ?? 0) + runningSum - Int128(running[id] ?? 0))
    }

    /// A running download takes this number of bytes now.
    ///
    /// - Parameter had: what it took while it did nothing.
    mutating func set(_ id: DownloadID, _ bytes: Int64, had: Int64) {
        if let before = running[id] {
            runningSum -= Int128(before)
        } else {
            generation += 1
            settle(by: -Int128(had))
        }
        running[id] = bytes
        runningSum += Int128(bytes)
    }

    /// A download does nothing any more, and leaves this number of bytes.
    ///
    /// - Parameter had: what it took before, where it did not run.
    mutating func end(_ id: DownloadID, leaving bytes: Int64, had: Int64) {
        guard let before = running.removeValue(forKey: id) else {
            if bytes != had {
                generation += 1
                settle(by: Int128(bytes) - Int128(had))
            }
            return
        }
        generation += 1
        runningSum -= Int128(before)
        settle(by: Int128(bytes))
    }

    private mutating func settle(by change: Int128) {
        if let settled { self.settled = max(0, Int64(clamping: Int128(settled) + change)) }
    }

    /// Something has changed that was not counted.
    mutating func invalidate() {
        generation += 1
        settled = nil
    }

    /// What the store says of all that did not run at this generation.
    mutating func settle(_ bytes: Int64, at generation: Int) {
        if generation == self.generation { settled = max(0, bytes) }
    }
}
