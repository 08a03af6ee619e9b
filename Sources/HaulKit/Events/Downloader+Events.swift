internal import Logging

/// Events and summaries of the whole downloader, or of a group.
extension Downloader {
    /// The events of all downloads from now on. After ``shutDown()`` the sequence is empty.
    public nonisolated var events: DownloaderEvents { DownloaderEvents(broadcast, group: nil) }

    nonisolated func events(ofGroup name: String) -> DownloaderEvents { DownloaderEvents(broadcast, group: name) }

    /// A handle of a group, which may have no downloads yet.
    public nonisolated func group(_ name: String) -> DownloadGroup { DownloadGroup(name: name, downloader: self) }

    /// The groups with their summaries, by name; the downloads without a group come first. Speeds are not included:
    /// ``DownloadSummary/bytesPerSecond`` is 0.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func groups() async throws(DownloadError) -> [GroupSummary] {
        try checkIsOpen()
        return try await store.groups()
    }

    /// The number, bytes and progress of the downloads that match a query; its offset and limit are ignored.
    /// ``DownloadSummary/bytesPerSecond`` is the speed of the running downloads of the query's group and owner; its
    /// other conditions do not restrict the speed.
    ///
    /// - Throws: as ``groups()``.
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

    /// Reports a change of state to the listeners of the download and of the downloader.
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

    /// Runs reports that need a look-up, one after another; ``shutDown()`` waits for them.
    func tell(_ work: @escaping @Sendable (isolated Downloader) async -> Void) {
        let previous = telling
        telling = Task {
            await previous?.value
            await work(self)
        }
    }

    /// Reports once that no download waits or runs any more, after the end of each has been reported.
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
