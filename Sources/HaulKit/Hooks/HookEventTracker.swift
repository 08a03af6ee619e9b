/// Decides which events are reported to hooks, from the states that downloads pass through.
struct HookEventTracker: Sendable, Equatable {
    /// Downloads that are neither queued nor paused nor at an end.
    private var running: Set<DownloadID> = []
    /// Downloads whose start was reported and whose end was not. Includes paused ones: resuming does not begin another
    /// run.
    private var started: Set<DownloadID> = []
    private var counts = HookCounts()
    /// Groups with a download that has ended since the group's own end was reported.
    private(set) var endedGroups: Set<String> = []
    /// Number of callers that will add more downloads. Unless it is 0, the end of all downloads is not reported.
    private var adding = 0

    /// Notes that a caller will add downloads, or with `false` that one of these callers has added all of its own.
    mutating func expectMore(_ expectsMore: Bool) { adding = max(0, adding + (expectsMore ? 1 : -1)) }

    /// Records the present state of a download.
    ///
    /// - Parameters:
    ///   - group: the group of the download.
    ///   - alreadyExisted: whether this run did not write the file, because it existed before or another process
    ///     completed it.
    /// - Returns: the event to report, if any.
    mutating func note(
        _ id: DownloadID,
        _ state: DownloadMachine.State,
        in group: String? = nil,
        alreadyExisted: Bool = false
    ) -> HookEvent? {
        switch state {
        case .queued, .paused:
            running.remove(id)
            return nil
        case .inspectingDisk, .awaitingURL, .choosing:
            running.insert(id)
            return nil
        case .comparing, .connecting, .preparing, .transferring, .backingOff, .verifying, .publishing:
            running.insert(id)
            return started.insert(id).inserted ? .started : nil
        case .completed:
            running.remove(id)
            counts.completed += 1
            if let group { endedGroups.insert(group) }
            // A run that has reported its start also reports its completion. Any other run does not report a file that
            // it did not write.
            return started.remove(id) != nil || !alreadyExisted ? .completed : nil
        case .failed:
            running.remove(id)
            started.remove(id)
            counts.failed += 1
            if let group { endedGroups.insert(group) }
            return .failed
        case .cancelled:
            running.remove(id)
            started.remove(id)
            return nil
        }
    }

    /// Returns the numbers of outcomes once all downloads have ended, and resets them. `nil` if a download is left,
    /// more are expected, or none has completed or failed since the last report.
    ///
    /// - Parameter othersWait: whether any download waits, runs, is held, is being added or is expected.
    mutating func allEnded(othersWait: Bool) -> HookCounts? {
        guard running.isEmpty, !othersWait, adding == 0, counts != HookCounts() else { return nil }
        defer { counts = HookCounts() }
        return counts
    }

    /// Returns whether to report the end of a group: `true` once after at least one of its downloads has ended.
    mutating func groupEnded(_ group: String) -> Bool { endedGroups.remove(group) != nil }

    /// Forgets all ends so far, because they do not count for new hooks.
    mutating func forgetEnds() {
        counts = HookCounts()
        endedGroups = []
    }
}
