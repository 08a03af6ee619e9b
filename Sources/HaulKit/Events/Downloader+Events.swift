internal import Logging

/// Telling those who listen to the whole downloader, or to a group of it.
extension Downloader {
    /// What happens to all downloads from now on.
    public nonisolated var events: DownloaderEvents { DownloaderEvents(broadcast, group: nil) }

    nonisolated func events(ofGroup name: String) -> DownloaderEvents { DownloaderEvents(broadcast, group: name) }

    /// A handle of a group, whether there is anything in it yet or not.
    public nonisolated func group(_ name: String) -> DownloadGroup { DownloadGroup(name: name, downloader: self) }

    /// The groups there are, each with its sum; first what belongs to none.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``, as all of
    ///   these calls.
    public func groups() async throws(DownloadError) -> [GroupSummary] {
        try checkIsOpen()
        return try await store.groups()
    }

    /// The downloads that a query finds, added up; its page is not regarded.
    public func summary(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> DownloadSummary {
        try checkIsOpen()
        return try await sum(query)
    }

    func sum(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> DownloadSummary {
        var summary = try await store.summary(condition(query))
        let now = time.now()
        for task in queue.running.compactMap({ tasks[$0] })
        where (query.group == nil || task.record.groupName == query.group)
            && (query.owner == nil || task.record.belongsTo == query.owner)
        {
            summary.bytesPerSecond += task.snapshot(at: now).bytesPerSecond
        }
        return summary
    }

    /// A download is in another state: tells its own listeners, and everybody's.
    func announce(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome?, _ task: DownloadTask) {
        let wasUnderWay = broadcast.isHeard && task.hub.snapshot.isUnderWay
        task.hub.changed(snapshot, outcome: outcome)
        let isForgotten = task.isForgotten
        task.isForgotten = false
        guard broadcast.isHeard else { return }
        broadcast.tell(.changed(snapshot), group: snapshot.group)
        if let outcome { broadcast.tell(.ended(snapshot, outcome), group: snapshot.group) }
        if isForgotten { broadcast.tell(.removed(task.id, group: snapshot.group), group: snapshot.group) }
        // What was at rest before does not end its group once more.
        if wasUnderWay, !snapshot.isUnderWay { noteRest(of: snapshot.group) }
    }

    /// Tells what has to be looked up first, one after another; ``shutDown()`` waits for it.
    func tell(_ work: @escaping @Sendable (isolated Downloader) async -> Void) {
        let previous = telling
        telling = Task {
            await previous?.value
            await work(self)
        }
    }

    /// Says once that nothing waits or runs any more, when all that has ended has been told.
    func noteIdle() {
        tellHooksWhenIdle()
        if !idle.isEmpty { lookWhoIsIdle() }
        let isBusy = !isIdle
        defer { wasBusy = isBusy }
        guard wasBusy, !isBusy, !isShuttingDown else { return }
        tell { downloader in
            for task in Array(downloader.tasks.values) { await downloader.settled(task) }
            guard downloader.isIdle, !downloader.isShuttingDown, downloader.broadcast.isHeard else { return }
            do throws(DownloadError) {
                let summary = try await downloader.sum()
                downloader.broadcast.tellAlone(.finished(summary), group: nil)
            } catch { downloader.logger.debug("store: \(error)") }
        }
    }
}
