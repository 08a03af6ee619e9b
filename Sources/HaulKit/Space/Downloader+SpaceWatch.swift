internal import Foundation
internal import Logging

/// One watcher for all downloads that wait for room: no kernel tells when a disk has some, so it is looked at once a second,
/// as long as anybody waits.
extension Downloader {
    static let spaceInterval = Duration.seconds(1)
    /// Time between two looks whether finished files have gone by another's hand.
    private static let recountInterval = Duration.seconds(30)

    func waitForSpace(_ task: DownloadTask, _ reason: HoldReason) {
        let record = task.record
        // Of the quota it has its share already, once it has begun.
        let has = reason == .quota ? task.bytesAtRest : task.machine.persisted.count
        space.add(
            .init(
                id: task.id,
                reason: reason,
                folder: record.folderOnDisk,
                needed: record.total.map { max(0, $0 - has) },
                priority: record.priority,
                position: record.position,
                since: time.now()
            )
        )
        startSpacePoll()
    }

    /// A held download may leave the memory where nobody else can take up its row.
    func mayLetGoHeld(_ task: DownloadTask) -> Bool {
        configuration.restoration == .everything && space.holds(task.id)
    }

    private func startSpacePoll() {
        guard spacePoll == nil, !isShuttingDown else { return }
        let sleep = time.sleep
        spacePoll = Task { [weak self] in
            // Ends early only by cancellation: the downloader shuts down.
            while (try? await sleep(Self.spaceInterval)) != nil {
                guard await self?.lookForSpace() == true else { return }
            }
        }
    }

    /// - Returns: false when nobody waits any more.
    private func lookForSpace() async -> Bool {
        guard !space.isEmpty, !isShuttingDown else {
            spacePoll = nil
            return false
        }
        do throws(DownloadError) {
            var supply = SpaceWatch.Supply(
                rule: SpaceRule(reserve: configuration.reservedDiskSpace),
                disks: await freeSpace(near: space.folders)
            )
            if let quota = configuration.diskQuota, space.waitsForQuota {
                if stored.recountedAt.map({ time.now() - $0 >= Self.recountInterval }) ?? true { try await recount() }
                try await countStored()
                supply.quota = (max(0, quota) - stored.used, max(0, quota))
            }
            let ready = space.ready(supply, at: time.now())
            for reason in [HoldReason.diskFull, .quota] {
                let ids = ready.filter { $0.reason == reason }.map(\.id)
                if !ids.isEmpty { try await endHold(reason, of: ids) }
            }
        } catch { logger.debug("store: \(error)") }
        return true
    }

    /// Finished files that somebody removed take no room, though the store remembers them.
    private func recount() async throws(DownloadError) {
        stored.recountedAt = time.now()
        let generation = stored.generation
        let sum = try await store.storedBytes(besides: Array(stored.running.keys)).all
        let missing = try await missingFiles().reduce(Int64(0)) { $0.addingClamped($1.bytes) }
        stored.settle(sum - missing, at: generation)
    }

    /// Queues again what this reason holds, of these downloads.
    func endHold(_ reason: HoldReason, of ids: [DownloadID]) async throws(DownloadError) {
        try await withCatalogLock { downloader throws(DownloadError) in
            // The user may have paused some meanwhile.
            let ids = ids.filter { downloader.space.holds($0) }
            let rest = ids.filter { downloader.tasks[$0] == nil }
            for task in ids.compactMap({ downloader.tasks[$0] }) {
                downloader.send(.holdEnded(reason), to: task)
                downloader.space.forget(task.id)
            }
            guard !rest.isEmpty else { return }
            var condition = StoreCondition.ids(rest)
            // On a full disk the store may not have been told of the pause.
            condition.add("(status = 'queued' OR hold IS NOT NULL)")
            let groups = try await downloader.listenedGroups(condition)
            try await downloader.store.change("status = 'queued', hold = NULL, error = NULL", condition)
            downloader.space.forget(rest)
            for item in try await downloader.store.queueItems(.ids(rest)) { downloader.queue.enqueue(item) }
            downloader.tellHolders(of: rest, .queued, in: groups)
            downloader.startQueuedDownloads()
        }
    }
}

extension Int64 {
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? (other < 0 ? .min : .max) : sum
    }
}
