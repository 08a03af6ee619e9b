/// Counts the bytes that the files of a downloader take, without a query of the store each time.
struct QuotaUsage: Sendable {
    /// Bytes of the downloads that do not run; `nil` until the store has been queried.
    private var settled: Int64?
    /// Bytes that each running download takes, including its preallocated bytes.
    private(set) var running: [DownloadID: Int64] = [:]
    private var runningSum: Int128 = 0
    /// Counts the changes that make a sum of the store invalid. Such a sum is valid only for the generation in which it
    /// was computed.
    private(set) var generation = 0
    /// Time of the last check whether the finished files still exist.
    var recountedAt: Instant?

    var isKnown: Bool { settled != nil }

    /// Bytes of all downloads.
    var used: Int64 { Int64(clamping: Int128(settled ?? 0) + runningSum) }
    func used(besides id: DownloadID) -> Int64 {
        Int64(clamping: Int128(settled ?? 0) + runningSum - Int128(running[id] ?? 0))
    }

    /// Records that a running download takes `bytes` now.
    ///
    /// - Parameter had: the bytes that it took before it ran.
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

    /// Records that a download no longer runs and leaves `bytes` on the disk.
    ///
    /// - Parameter had: the bytes that it took before; used only if it did not run.
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

    /// Discards the sum of the store, after a change that was not counted.
    mutating func invalidate() {
        generation += 1
        settled = nil
    }

    /// Takes the store's sum of the downloads that did not run at `generation`. Ignores a sum of an earlier generation.
    mutating func settle(_ bytes: Int64, at generation: Int) {
        if generation == self.generation { settled = max(0, bytes) }
    }
}
