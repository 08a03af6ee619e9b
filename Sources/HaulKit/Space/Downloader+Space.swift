internal import Logging

/// Carries out what the ``SpaceMonitor`` says: who is held, and who is queued again.
extension Downloader {
    /// Takes over what a change of state means for the room on the disk.
    func noteDiskUse(_ task: DownloadTask) {
        if task.machine.state == .paused, let hold = task.machine.hold, hold.isOfDisk, !isShuttingDown {
            space.wait(task, hold)
            space.startPolling { [weak self] in await self?.lookForSpace() ?? false }
        } else {
            space.forget(task.id)
        }
        space.stateChanged(task)
    }

    /// A held download may leave the memory where no other process can take up its row.
    func mayEvictHeld(_ task: DownloadTask) -> Bool {
        configuration.restoration == .everything && space.holds(task.id)
    }

    /// Looks whether files that grow come too near to what is to stay free.
    func watchGrowth() {
        guard space.isGrowthCheckDue() else { return }
        let growing = queue.running.compactMap { tasks[$0] }
            .filter { $0.machine.state == .transferring && $0.part?.file.isInMemory == false }
        guard !growing.isEmpty else { return }
        let ids = growing.map(\.id)
        Task {
            do throws(DownloadError) { tell(try await space.beyondQuota(ids.compactMap { tasks[$0] })) } catch {
                logger.debug("store: \(error)")
            }
            tell(await space.beyondReserve(ids.compactMap { tasks[$0] }))
        }
    }

    private func tell(_ news: [SpaceMonitor.News]) {
        for (task, event) in news where task.machine.state == .transferring { send(event, to: task) }
    }

    /// - Returns: false when no download waits any more.
    private func lookForSpace() async -> Bool {
        guard !space.isEmpty, !isShuttingDown else {
            space.stopPolling()
            return false
        }
        do throws(DownloadError) {
            var missingBytes: Int64?
            if space.isRecountDue {
                missingBytes = try await missingFiles().reduce(Int64(0)) { $0.addingClamped($1.bytes) }
            }
            let ready = try await space.ready(missingBytes: missingBytes)
            for reason in [HoldReason.diskFull, .quota] {
                let ids = ready.filter { $0.reason == reason }.map(\.id)
                if !ids.isEmpty { try await endHold(reason, of: ids) }
            }
        } catch { logger.debug("store: \(error)") }
        return true
    }

    /// Queues again what this reason holds, of these downloads.
    private func endHold(_ reason: HoldReason, of ids: [DownloadID]) async throws(DownloadError) {
        try await withCatalogLock { downloader throws(DownloadError) in
            // The user may have paused some meanwhile.
            let ids = ids.filter { downloader.space.holds($0) }
            let rest = ids.filter { downloader.tasks[$0] == nil }
            for task in ids.compactMap({ downloader.tasks[$0] }) {
                downloader.send(.holdEnded(reason), to: task)
                downloader.space.forget(task.id)
            }
            guard !rest.isEmpty else { return }
            let groups = try await downloader.listenedGroups(.ids(rest).onlyQueuedOrHeld())
            try await downloader.store.endHolds(of: rest)
            downloader.space.forget(rest)
            for item in try await downloader.store.queueItems(.ids(rest)) { downloader.queue.enqueue(item) }
            downloader.tellHolders(of: rest, .queued, in: groups)
            downloader.startQueuedDownloads()
        }
    }
}
