/// What hooks are to be told, decided from the states that downloads pass through.
struct HookEventTracker: Sendable, Equatable {
    /// Neither waiting nor paused nor at an end.
    private var running: Set<DownloadID> = []
    /// Of which a start was told, and no end yet. Paused ones too: resuming does not begin another run.
    private var started: Set<DownloadID> = []
    private var counts = HookCounts()
    /// Groups of which a download has ended since their own end was told.
    private(set) var endedGroups: Set<String> = []
    /// More downloads are about to be added: that nothing runs is not the end of all.
    var expectsMore = false

    /// Takes in the state in which a download is now.
    ///
    /// - Parameters:
    ///   - group: that of the download.
    ///   - alreadyExisted: the file was there before this run.
    /// - Returns: what to tell of it.
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
            // Each start has its end; a file that was only there is not reported.
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

    /// How the downloads ended, when all have: told once.
    ///
    /// - Parameter othersWait: downloads wait for a slot.
    mutating func allEnded(othersWait: Bool) -> HookCounts? {
        guard running.isEmpty, !othersWait, !expectsMore, counts != HookCounts() else { return nil }
        defer { counts = HookCounts() }
        return counts
    }

    /// Whether the end of a group, which has ended, is to be told: once for the ends of its downloads.
    mutating func groupEnded(_ group: String) -> Bool { endedGroups.remove(group) != nil }

    /// Ends that were before anybody wanted to know.
    mutating func forgetEnds() {
        counts = HookCounts()
        endedGroups = []
    }
}
