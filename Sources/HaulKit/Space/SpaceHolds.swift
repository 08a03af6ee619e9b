internal import Logging

/// Holds downloads that lack space, and queues them again when there is space. ``SpaceMonitor`` checks the disks of the
/// files and the quota. Transfers also stop while the disk of the store is full, because the records would fall behind
/// the files.
///
/// Confined to the actor of its downloader.
final class SpaceHolds {
    private let environment: TaskEnvironment
    private let scheduler: Scheduler
    private let files: FinishedFiles
    private var space: SpaceMonitor { environment.space }
    private var services: EngineServices { environment.services }
    private var catalog: DownloadCatalog { scheduler.catalog }

    init(_ environment: TaskEnvironment, _ scheduler: Scheduler, _ files: FinishedFiles) {
        self.environment = environment
        self.scheduler = scheduler
        self.files = files
    }

    /// Begins to check for space when the disk of the store becomes full, also while nothing runs.
    func watchStore() {
        services.store.whenFull(environment.spawner.signal(self) { holds, _ in holds.startPolling() })
    }

    /// Checks for space periodically until neither a download nor the store waits for any.
    func startPolling() {
        let look = environment.spawner.receiver(self) { (holds, _: Void, _) in await holds.lookForSpace() }
        space.startPolling { await look(()) }
    }

    /// Stops the transfers if the store has no space for their records. Checks, at most once a second, whether growing
    /// files exceed the quota or take bytes of the reserve.
    func watchGrowth() {
        if let error = services.store.lackOfSpace {
            for task in scheduler.running where task.isTransferring { task.send(.spaceMissing(.diskFull, error)) }
        }
        guard space.isGrowthCheckDue() else { return }
        let growing = scheduler.running.filter {
            $0.machine.state == .transferring && $0.part?.file.isInMemory == false
        }
        guard !growing.isEmpty else { return }
        let ids = growing.map(\.id)
        environment.spawner.start(self) { holds, _ in await holds.stopGrowth(of: ids) }
    }

    private func stopGrowth(of ids: [DownloadID], isolation: isolated (any Actor)? = #isolation) async {
        do throws(DownloadError) {
            tell(try await space.beyondQuota(ids.compactMap { catalog.tasks[$0] }))
        } catch { services.logger.debug("store: \(error)") }
        tell(await space.beyondReserve(ids.compactMap { catalog.tasks[$0] }))
    }

    private func tell(_ news: [SpaceMonitor.News]) {
        for (task, event) in news where task.machine.state == .transferring { task.send(event) }
    }

    /// - Returns: `false` when neither a download nor the store waits for space, or the downloader shuts down.
    private func lookForSpace(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        let store = services.store
        guard !space.isEmpty || store.lackOfSpace != nil, !environment.isShuttingDown else {
            space.stopPolling()
            return false
        }
        do throws(DownloadError) {
            if store.lackOfSpace != nil {
                try await store.checkCanBeWritten()
                if store.lackOfSpace != nil { return true }
                scheduler.startQueuedDownloads()
            }
            var missingBytes: Int64?
            if space.isRecountDue {
                missingBytes = try await files.missing(DownloadFilter()).reduce(Int64(0)) { $0.addingClamped($1.bytes) }
            }
            let ready = try await space.ready(missingBytes: missingBytes)
            for reason in [HoldReason.diskFull, .quota] {
                let ids = ready.filter { $0.reason == reason }.map(\.id)
                if !ids.isEmpty { try await endHold(reason, of: ids) }
            }
        } catch { services.logger.debug("store: \(error)") }
        return true
    }

    /// Ends the hold of these downloads and queues them.
    private func endHold(_ reason: HoldReason, of ids: [DownloadID], isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        try await catalog.lock()
        defer { catalog.unlock() }
        // The user may have paused some of them in the meantime.
        let ids = ids.filter { space.holds($0) }
        let rest = ids.filter { catalog.tasks[$0] == nil }
        for task in ids.compactMap({ catalog.tasks[$0] }) {
            task.send(.holdEnded(reason))
            space.forget(task.id)
        }
        guard !rest.isEmpty else { return }
        let groups = try await environment.notifications.listenedGroups(.ids(rest).onlyQueuedOrHeld())
        try await services.store.endHolds(of: rest)
        space.forget(rest)
        for item in try await services.store.queueItems(.ids(rest)) { scheduler.queue.enqueue(item) }
        scheduler.tellHolders(of: rest, count: rest.count, .queued, in: groups)
        scheduler.startQueuedDownloads()
    }
}
