internal import Logging

/// The calls that wait until no download waits or runs.
struct IdleWatch {
    struct Waiter {
        /// Nil for all downloads.
        let group: String?
        let continuation: CheckedContinuation<Result<DownloadSummary, DownloadError>, Never>
    }
    var waiters: [Int: Waiter] = [:]
    /// Groups that are listened to, and of which something has come to rest since they were looked at.
    var restedGroups: Set<String> = []
    var isLooking = false
    /// Groups that calls under way add to, each with the number of these calls.
    private(set) var additions: [String: Int] = [:]
    private var next = 0

    var isEmpty: Bool { waiters.isEmpty && restedGroups.isEmpty }

    mutating func number() -> Int {
        next += 1
        return next
    }

    mutating func additionBegan(_ groups: Set<String>) {
        for group in groups { additions[group, default: 0] += 1 }
    }

    mutating func additionEnded(_ groups: Set<String>) {
        for group in groups {
            guard let count = additions[group] else { continue }
            additions[group] = count > 1 ? count - 1 : nil
        }
    }

    mutating func resume(_ group: String?, _ result: Result<DownloadSummary, DownloadError>) {
        for (number, waiter) in waiters where waiter.group == group {
            waiters[number] = nil
            waiter.continuation.resume(returning: result)
        }
    }

    mutating func giveUp(_ error: DownloadError) {
        for waiter in waiters.values { waiter.continuation.resume(returning: .failure(error)) }
        waiters = [:]
    }
}

extension Downloader {
    /// Waits until no download waits or runs, and returns the summary of all downloads; returns at once if that is so
    /// already, as after adding a list whose files are all complete.
    ///
    /// A download that was paused by the user, failed or completed is idle. A held download
    /// (``DownloadSnapshot/holdReason``) is not: the call waits for it. When the call returns, the files of all ended
    /// downloads have their final names and the records are written. Downloads added by a call that returned before
    /// this call are counted.
    ///
    /// - Returns: the sum of all downloads of the store, those included that ended before or in other processes.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/waitCancelled`` when the task is cancelled,
    ///   ``DownloadError/Code/shutDown`` when the downloader was or is shut down first,
    ///   ``DownloadError/Code/storeFailed``.
    public func waitUntilIdle() async throws(DownloadError) -> DownloadSummary {
        try await waitUntilIdle(group: nil)
    }

    func waitUntilIdle(group: String?) async throws(DownloadError) -> DownloadSummary {
        try checkIsOpen()
        let number = idle.number()
        let result: Result<DownloadSummary, DownloadError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: .failure(Self.isNotAwaited)) }
                idle.waiters[number] = .init(group: group, continuation: continuation)
                lookWhoIsIdle()
            }
        } onCancel: {
            Task { await self.stopWaiting(number) }
        }
        return try result.get()
    }

    private static let isNotAwaited = DownloadError(
        .waitCancelled,
        "The wait for the downloads was cancelled. The downloads themselves were not."
    )

    private func stopWaiting(_ number: Int) {
        idle.waiters.removeValue(forKey: number)?.continuation.resume(returning: .failure(Self.isNotAwaited))
    }

    /// To be called whenever something may have come to rest: once for all that comes until it is looked at.
    func lookWhoIsIdle() {
        guard !idle.isEmpty, !idle.isLooking else { return }
        idle.isLooking = true
        tell { downloader in
            downloader.idle.isLooking = false
            for task in Array(downloader.tasks.values) where task.isComingToRest { await downloader.settled(task) }
            let groups = downloader.idle.restedGroups
            downloader.idle.restedGroups = []
            for group in groups { await downloader.groupHasRested(group) }
            for group in Set(downloader.idle.waiters.values.map(\.group)) { await downloader.endWait(for: group) }
        }
    }

    private func endWait(for group: String?) async {
        do throws(DownloadError) {
            guard let summary = try await idleSummary(group) else { return }
            idle.resume(group, .success(summary))
        } catch { idle.resume(group, .failure(error)) }
    }

    private func groupHasRested(_ group: String) async {
        do throws(DownloadError) {
            guard let summary = try await idleSummary(group) else {
                // Asked again when the addition has ended, or the task has come to rest.
                let isAboutToRest = tasks.values.contains { $0.record.groupName == group && $0.isComingToRest }
                if isAboutToRest || idle.additions[group] != nil { idle.restedGroups.insert(group) }
                return
            }
            broadcast.tellAlone(.finished(summary), group: group)
        } catch { logger.debug("store: \(error)") }
    }

    /// The sum of what is idle; nil where something waits or runs.
    private func idleSummary(_ group: String?) async throws(DownloadError) -> DownloadSummary? {
        // What stops for the shut-down will run again.
        guard !isShuttingDown, try await isIdle(group) else { return nil }
        let summary = try await sum(DownloadQuery(group: group))
        // Something may have been added meanwhile.
        guard try await isIdle(group), !isShuttingDown else { return nil }
        return summary
    }

    private func isIdle(_ group: String?) async throws(DownloadError) -> Bool {
        guard let group else { return isIdle && tasks.values.allSatisfy(isAtRest) }
        // The rest of a list that is being added belongs to it too.
        guard idle.additions[group] == nil else { return false }
        guard tasks.values.allSatisfy({ $0.record.groupName != group || isAtRest($0) && $0.machine.hold == nil })
        else { return false }
        if isIdle { return true }
        // Of those that are not in memory only the store knows the group. Nearly always the first ones answer it; rows that
        // another process runs, or that cannot be read, may stand before them.
        for limit in [64, Int.max] {
            let open = try await store.open(group: group, limit: limit)
            if open.contains(where: { queue.waits($0) || queue.runs($0) || space.holds($0) }) { return false }
            if open.count < limit { break }
        }
        return true
    }

    /// No download waits, runs, is held or is being added.
    var isIdle: Bool {
        catalog.pendingAdditions == 0 && queue.waitingCount == 0 && queue.runningCount == 0 && space.isEmpty
            && !tasks.values.contains { $0.machine.hold != nil }
    }
}

extension DownloadGroup {
    /// Waits until no download of the group waits or runs, and returns the group's summary; returns at once if that is
    /// so already, or if the group has no downloads. See ``Downloader/waitUntilIdle()``.
    ///
    /// - Throws: as ``Downloader/waitUntilIdle()``.
    public func waitUntilIdle() async throws(DownloadError) -> DownloadSummary {
        try await downloader.waitUntilIdle(group: name)
    }

    /// How the group ended: waits until none of its downloads waits or runs, and returns them added up. Returns at once when that is so
    /// already, also when the group is empty. A call that is still adding to the group is waited for.
    ///
    /// A failed download is no error of the group: it is counted by ``DownloadSummary/failed``. What was paused by the user is at rest;
    /// what is held for a reason that ends by itself (``HoldReason``) is waited for.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/waitCancelled`` when this task is cancelled, which leaves the
    ///   downloads as they are; ``DownloadError/Code/shutDown`` when the downloader is or was shut down first;
    ///   ``DownloadError/Code/storeFailed``.
    public func result() async throws(DownloadError) -> DownloadSummary {
        try await downloader.waitUntilIdle(group: name)
    }
}
