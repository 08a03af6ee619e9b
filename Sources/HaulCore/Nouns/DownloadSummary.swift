/// Number, bytes and progress of several downloads: those of a whole downloader, a group or a filter.
public struct DownloadSummary: Sendable, Hashable, Codable {
    /// The state of several downloads together.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// There are no downloads.
        case empty
        /// At least one download waits or runs.
        case running
        /// No download waits or runs, and at least one is paused or held.
        case paused
        /// All downloads have ended, and at least one has failed.
        case failed
        /// All downloads are complete.
        case completed
    }

    /// Number of downloads that wait or run.
    public package(set) var open = 0
    /// Number of downloads that are paused by the user or held (``DownloadSnapshot/holdReason``).
    public package(set) var paused = 0
    /// Number of downloads whose last run failed.
    public package(set) var failed = 0
    /// Number of downloads that are complete.
    public package(set) var completed = 0
    /// Bytes received, of finished and unfinished files.
    public package(set) var receivedBytes: Int64 = 0
    /// Sum of the complete lengths that are known, in bytes.
    public package(set) var knownTotalBytes: Int64 = 0
    /// Number of downloads whose complete length is not known.
    package var unknownTotals = 0
    /// Sum of the speeds of running downloads over the last five seconds; 0 when nothing arrives. Always 0 in
    /// ``Downloader/groups()``.
    public package(set) var bytesPerSecond: Double = 0

    package init() {}

    /// A sum for tests and previews; a downloader makes its own. Each parameter is the property of its name.
    ///
    /// - Parameter unknownTotals: number of downloads whose complete length is not known.
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

    /// Number of all downloads.
    public var count: Int { open + paused + failed + completed }

    /// The state of the downloads together: the first of running, paused and failed that applies to any of them, else
    /// completed or empty.
    public var state: State {
        if open > 0 { return .running }
        if paused > 0 { return .paused }
        if failed > 0 { return .failed }
        return completed > 0 ? .completed : .empty
    }

    /// Progress from 0 to 1; 0 without downloads. A file of unknown length counts with the average of the known
    /// lengths. When no length is known, the fraction is the share of completed downloads.
    public var fraction: Double {
        guard count > 0 else { return 0 }
        if state == .completed { return 1 }
        let known = count - unknownTotals
        guard known > 0, knownTotalBytes > 0 else { return Double(completed) / Double(count) }
        let estimate = Double(knownTotalBytes) / Double(known) * Double(count)
        return max(0, min(1, Double(receivedBytes) / estimate))
    }

    /// Time to the last byte at the current speed; `nil` while the speed is 0 or a length is unknown.
    public var timeLeft: Duration? {
        guard unknownTotals == 0, bytesPerSecond > 0 else { return nil }
        return DownloadSnapshot.time(for: Double(knownTotalBytes) - Double(receivedBytes), at: bytesPerSecond)
    }
}

/// The summary of one group, or of all downloads without a group.
package struct GroupSummary: Sendable, Hashable {
    /// The name of the group; `nil` for the downloads without a group.
    package let group: String?
    /// Number, bytes and progress of the group's downloads.
    package let summary: DownloadSummary

    package init(group: String?, summary: DownloadSummary) {
        self.group = group
        self.summary = summary
    }
}
