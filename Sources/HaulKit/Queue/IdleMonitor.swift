internal import Logging

/// Detects when all downloads, or all downloads of a group, are idle, and reports that once. Idle means that no
/// download waits or runs.
///
/// Confined to the actor of its downloader.
final class IdleMonitor: IdleWatchDelegate {
    private let environment: TaskEnvironment
    private let scheduler: Scheduler
    private let reader: CatalogReader
    /// Whether the last check found work whose end is still to be reported.
    private var wasBusy = false
    private var catalog: DownloadCatalog { scheduler.catalog }
    private var watch: IdleWatch { scheduler.idle }
    private var notifications: Notifications { environment.notifications }
    private var tasks: [DownloadID: DownloadTask] { catalog.tasks }

    init(_ environment: TaskEnvironment, _ scheduler: Scheduler, _ reader: CatalogReader) {
        self.environment = environment
        self.scheduler = scheduler
        self.reader = reader
    }

    // MARK: Adding

    /// Counts an addition. Until the addition ends, neither its groups nor all downloads together count as idle.
    func additionBegan(_ groups: Set<String>) {
        catalog.pendingAdditions += 1
        watch.additionBegan(groups)
    }

    func additionEnded(_ groups: Set<String>) {
        catalog.pendingAdditions -= 1
        watch.additionEnded(groups)
        if !environment.isShuttingDown { watch.changed() }
    }

    /// Begins to expect more downloads for a group. Until ``expectationEnded(of:)``, neither the group nor all
    /// downloads together count as idle.
    func expectationBegan(of group: String) { watch.additionBegan([group]) }

    func expectationEnded(of group: String) {
        watch.additionEnded([group])
        if !environment.isShuttingDown { watch.changed() }
    }

    /// Makes the next check report the end of all downloads even if none ran, because all files of an added list were
    /// already complete.
    func noteCompleteAddition() { wasBusy = true }

    // MARK: Looking

    /// Reports once that no download waits or runs, after the end of each download has been reported.
    func mayBeIdle() {
        let hasWork = hasWork
        tellHooksWhenIdle()
        if hasWork {
            wasBusy = true
            return
        }
        // While more downloads are expected, the monitor keeps `wasBusy`, so that the end is still reported later.
        guard !watch.isAddingToAnyGroup else { return }
        defer { wasBusy = false }
        guard wasBusy, !environment.isShuttingDown else { return }
        notifications.tell(self) { monitor, _ in await monitor.reportEnd() }
    }

    private func reportEnd(isolation: isolated (any Actor)? = #isolation) async {
        for task in Array(tasks.values) { await task.settled() }
        // Defers the report until no more downloads are expected.
        if watch.isAddingToAnyGroup { wasBusy = true }
        guard isIdle, !environment.isShuttingDown, notifications.broadcast.isHeard else { return }
        do throws(DownloadError) {
            let summary = try await reader.sum()
            notifications.broadcast.tellAlone(.finished(summary), group: nil)
        } catch { environment.services.logger.debug("store: \(error)") }
    }

    /// Reports to hooks that all downloads have ended, unless a download is left or the end was reported already. Call
    /// this method whenever the last download may have ended.
    func tellHooksWhenIdle() {
        guard !environment.isShuttingDown, notifications.hooks.isWanted else { return }
        notifications.tellHooksAllEnded(othersWait: !isIdle)
    }

    func lookWhoIsIdle() {
        notifications.tell(self) { monitor, _ in await monitor.look() }
    }

    private func look(isolation: isolated (any Actor)? = #isolation) async {
        for task in Array(tasks.values) where task.isComingToRest { await task.settled() }
        for group in watch.beginLook() { await groupHasRested(group) }
        for group in Set(watch.waiters.values.map(\.group)) { await endWait(for: group) }
    }

    private func endWait(for group: String?, isolation: isolated (any Actor)? = #isolation) async {
        do throws(DownloadError) {
            guard let summary = try await idleSummary(group) else { return }
            watch.resume(group, .success(summary))
        } catch { watch.resume(group, .failure(error)) }
    }

    private func groupHasRested(_ group: String, isolation: isolated (any Actor)? = #isolation) async {
        do throws(DownloadError) {
            guard let summary = try await idleSummary(group) else {
                // Looks at the group again when the addition has ended or the task has come to rest.
                let isAboutToRest = tasks.values.contains { $0.record.request.group == group && $0.isComingToRest }
                if isAboutToRest || watch.isAdding(to: group) || scheduler.isFilling { watch.keep(group) }
                return
            }
            notifications.groupEnded(group, summary)
        } catch { environment.services.logger.debug("store: \(error)") }
    }

    /// Returns the summary of the group, or of all downloads; `nil` if one of them waits or runs.
    private func idleSummary(_ group: String?, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadSummary?
    {
        // Downloads that stop for the shut-down are not idle, because they run again after the next start.
        guard !environment.isShuttingDown, try await isIdle(group) else { return nil }
        let summary = try await reader.sum(DownloadFilter(group: group))
        // A download may have been added during the `await`.
        guard try await isIdle(group), !environment.isShuttingDown else { return nil }
        return summary
    }

    private func isIdle(_ group: String?, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> Bool
    {
        guard let group else { return isIdle && tasks.values.allSatisfy(scheduler.isAtRest) }
        // A group to which a list is being added is not idle, because the rest of the list belongs to the group too.
        guard !watch.isAdding(to: group), !scheduler.isFilling else { return false }
        guard
            tasks.values.allSatisfy({
                $0.record.request.group != group || scheduler.isAtRest($0) && $0.machine.hold == nil
            })
        else { return false }
        if isIdle { return true }
        // Only the store knows the groups of downloads that are not in memory. The first 64 rows nearly always suffice.
        // All rows are read only if this process has none of the 64 downloads in its queue or wait list: other
        // processes run the 64, or their rows cannot be read.
        let space = environment.space
        for limit in [64, Int.max] {
            let open = try await environment.services.store.open(group: group, limit: limit)
            if open.contains(where: { scheduler.queue.waits($0) || scheduler.queue.runs($0) || space.holds($0) }) {
                return false
            }
            if open.count < limit { break }
        }
        return true
    }

    /// Whether no download waits, runs, is held, is being added or is expected.
    private var isIdle: Bool { !hasWork && !watch.isAddingToAnyGroup }

    /// Whether a download waits, runs, is held or is being added.
    private var hasWork: Bool {
        let counts = scheduler.queue.counts
        return counts.running + counts.waiting + counts.backingOff > 0 || catalog.pendingAdditions > 0
            || scheduler.isFilling || !environment.space.isEmpty || isAnyHeldByConditions
    }

    /// Conditions hold downloads only while the queue is shut, so the tasks are examined only then.
    private var isAnyHeldByConditions: Bool {
        scheduler.queue.isShut && tasks.values.contains { $0.machine.hold != nil }
    }
}
