/// Downloads added up: all of a downloader, of a group, or of any query.
public struct DownloadSummary: Sendable, Hashable, Codable {
    /// What several downloads are together.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// There are none.
        case empty
        /// At least one waits or runs.
        case running
        /// None waits or runs, and at least one is paused.
        case paused
        /// All have ended, and at least one failed.
        case failed
        /// All are complete.
        case completed
    }

    /// How many downloads wait or run.
    public internal(set) var open = 0
    /// How many downloads are paused.
    public internal(set) var paused = 0
    /// How many downloads have failed.
    public internal(set) var failed = 0
    /// How many downloads are complete.
    public internal(set) var completed = 0
    /// Bytes that are here, of finished and unfinished files.
    public internal(set) var receivedBytes: Int64 = 0
    /// Complete length of all files whose length is known.
    public internal(set) var knownTotalBytes: Int64 = 0
    /// Downloads whose length nobody knows yet.
    public internal(set) var unknownTotals = 0
    /// Of those that run now, over the last five seconds; 0 when nothing arrives.
    public internal(set) var bytesPerSecond: Double = 0

    init() {}

    /// A sum for tests and previews; a downloader makes its own.
    ///
    /// - Parameters:
    ///   - open: downloads that wait or run.
    ///   - receivedBytes: of finished and unfinished files.
    ///   - knownTotalBytes: of all files whose length is known.
    ///   - unknownTotals: downloads whose length is unknown.
    public init(
        open: Int,
        paused: Int = 0,
        failed: Int = 0,
        completed: Int = 0,
        receivedBytes: Int64 = 0,
        knownTotalBytes: Int64 = 0,
        unknownTotals: Int = 0,
        bytesPerSecond: Double = 0
    ) {
        (self.open, self.paused, self.failed, self.completed) = (open, paused, failed, completed)
        (self.receivedBytes, self.knownTotalBytes) = (receivedBytes, knownTotalBytes)
        (self.unknownTotals, self.bytesPerSecond) = (unknownTotals, bytesPerSecond)
    }

    /// How many downloads there are.
    public var count: Int { open + paused + failed + completed }

    /// What they are together.
    public var state: State {
        if open > 0 { return .running }
        if paused > 0 { return .paused }
        if failed > 0 { return .failed }
        return completed > 0 ? .completed : .empty
    }

    /// From 0 to 1. Files of unknown length count as long as the others are on average, so that they neither hide nor outweigh
    /// what is known; without any known length each finished file counts as one of all.
    public var fraction: Double {
        guard count > 0 else { return 0 }
        if state == .completed { return 1 }
        let known = count - unknownTotals
        guard known > 0, knownTotalBytes > 0 else { return Double(completed) / Double(count) }
        let estimate = Double(knownTotalBytes) / Double(known) * Double(count)
        return max(0, min(1, Double(receivedBytes) / estimate))
    }

    /// At the present speed; nil while it is 0, or a length is unknown.
    public var timeLeft: Duration? {
        guard unknownTotals == 0, bytesPerSecond > 0 else { return nil }
        return DownloadSnapshot.time(for: Double(knownTotalBytes) - Double(receivedBytes), at: bytesPerSecond)
    }
}

/// A group and its sum.
public struct GroupSummary: Sendable, Hashable {
    /// Nil for the downloads that belong to none.
    public let group: String?
    public let summary: DownloadSummary
}
