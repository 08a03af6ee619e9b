internal import Foundation
internal import Logging

/// Checks the space on the disks and in the quota, and keeps the downloads that wait for space. Refuses a download that
/// would take bytes of the reserve or exceed the quota.
///
/// Confined to the actor of its downloader. The monitor only decides; its callers send the returned events to the
/// tasks.
final class SpaceMonitor {
    /// A download, and the event for its machine.
    typealias News = (task: DownloadTask, event: DownloadMachine.Event)

    static let interval = Duration.seconds(1)
    /// Interval of the checks for finished files that another program has removed.
    private static let recountInterval = Duration.seconds(30)

    let services: EngineServices
    private var store: DownloadStore { services.store }
    private var time: EngineClock { services.time }
    private var executor: BlockingExecutor { services.executor }
    private var logger: Logger { services.logger }
    private var rule: SpaceRule
    private var quota: Int64?
    private var waitList = DiskSpaceWaitList()
    private var usage = QuotaUsage()
    private var poll: Task<Void, Never>?
    private var lastGrowthCheck = Instant.start

    init(
        _ configuration: Downloader.Configuration,
        _ services: EngineServices
    ) {
        self.services = services
        rule = SpaceRule(reserve: configuration.storage.reservedDiskSpace)
        quota = configuration.storage.diskQuota.map { max(0, $0) }
    }

    /// Changes the reserve and the quota; `nil` for no quota.
    ///
    /// - Parameter tasks: the tasks in memory. If the quota changes, the bytes of the running ones are counted again.
    func setLimits(reserve: Int64, quota: Int64?, _ tasks: some Collection<DownloadTask>) {
        rule = SpaceRule(reserve: reserve)
        let quota = quota.map { max(0, $0) }
        guard quota != self.quota else { return }
        self.quota = quota
        usage = QuotaUsage()
        for task in tasks { count(task) }
    }

    /// Bytes of the quota that are in use.
    var usedBytes: Int64 { usage.used }
    /// Whether no download waits for space.
    var isEmpty: Bool { waitList.isEmpty }
    /// Whether a download waits for space.
    func holds(_ id: DownloadID) -> Bool { waitList.holds(id) }
    var heldIDs: some Sequence<DownloadID> { waitList.ids }
    func forget(_ id: DownloadID) { waitList.forget(id) }
    func forget(_ ids: [DownloadID]) { waitList.forget(ids) }
    /// Discards the counted usage after a change of rows that was not counted.
    func invalidateUsage() { usage.invalidate() }

    // MARK: Before the body

    /// Checks whether the rest of a file fits into the quota and on the disk, as ``preallocate(_:_:_:)`` does before it
    /// allocates.
    ///
    /// - Parameter here: bytes of the file that are on the disk or preallocated there.
    /// - Returns: the event for the machine in place of success; `nil` if there is enough space.
    func refusal(_ total: Int64?, here: Int64, _ task: DownloadTask, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        if let refusal = try await quotaRefusal(total, here: here, task) { return refusal }
        let folder = task.record.folderOnDisk
        let isContended = waitList.isWaiting(in: folder)
        guard total.map({ $0 > here }) ?? (isContended || rule.reserve > 0) else { return nil }
        guard let reading = await freeSpace(near: [folder])[folder] else { return nil }
        waitList.note(rule.available(in: reading), in: folder, at: time.now())
        let path = task.record.partPath ?? folder
        switch rule.decision(total: total, here: here, in: reading, isContended: isContended) {
        case .fits: return nil
        case .isMissing: return .spaceMissing(.diskFull, SpaceError.missing(path))
        case .isReserved: return .spaceMissing(.diskFull, SpaceError.reserved(path, rule.reserve))
        case .never: return .spaceMissing(nil, SpaceError.tooLarge(path))
        }
    }

    private func quotaRefusal(
        _ total: Int64?,
        here: Int64,
        _ task: DownloadTask,
        isolation: isolated (any Actor)? = #isolation
    )
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        guard let quota else { return nil }
        try await countUsage()
        let isTooLarge = total.map { $0 > quota } ?? false
        let left = quota - usage.used(besides: task.id)
        guard !isTooLarge, total ?? max(1, task.machine.persisted.count) <= left else {
            return .spaceMissing(isTooLarge ? nil : .quota, SpaceError.overQuota(quota))
        }
        usage.set(task.id, total ?? task.machine.persisted.count, had: task.bytesAtRest)
        return nil
    }

    // MARK: Small files

    /// Whether a new download should check for space before it sends a request.
    func mayLackSpace(_ task: DownloadTask) -> Bool {
        let folder = task.record.folderOnDisk
        if waitList.isWaiting(in: folder) || (task.record.request.size ?? 0) > BufferedFile.mostBytes { return true }
        return rule.reserve > 0 && !waitList.hasPlenty(in: folder, at: time.now())
    }

    /// Whether a small file may be buffered in memory without a check for space.
    func hasPlentyOfSpace(_ task: DownloadTask) -> Bool {
        let folder = task.record.folderOnDisk
        if let quota, !usage.isKnown || usage.used > quota - DiskSpaceWaitList.plenty { return false }
        guard rule.reserve > 0 || waitList.isWaiting(in: folder) else { return true }
        return waitList.hasPlenty(in: folder, at: time.now())
    }

    // MARK: While the body comes

    /// Whether a check of growing files is due: once a second, if there is a reserve or a quota. A call that returns
    /// `true` counts as the check.
    func isGrowthCheckDue() -> Bool {
        let now = time.now()
        guard rule.reserve > 0 || quota != nil, now - lastGrowthCheck >= Self.interval else { return false }
        lastGrowthCheck = now
        return true
    }

    /// Returns the growing downloads of unknown length if the quota is exceeded, with the event that holds them.
    ///
    /// - Parameter growing: the downloads that write to the disk now.
    func beyondQuota(_ growing: [DownloadTask], isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> [News]
    {
        guard let quota else { return [] }
        let growing = growing.filter { $0.machine.resource?.total == nil }
        for task in growing { usage.set(task.id, task.machine.persisted.count, had: task.bytesAtRest) }
        guard !growing.isEmpty else { return [] }
        guard usage.isKnown else {
            try await countUsage()
            return []
        }
        guard usage.used > quota else { return [] }
        return growing.map { ($0, .spaceMissing(.quota, SpaceError.overQuota(quota))) }
    }

    /// Returns the downloads whose growing files take bytes of the reserve, with the event that holds them.
    func beyondReserve(_ growing: [DownloadTask], isolation: isolated (any Actor)? = #isolation) async -> [News] {
        guard rule.reserve > 0, !growing.isEmpty else { return [] }
        var news: [News] = []
        let readings = await freeSpace(near: Array(Set(growing.map(\.record.folderOnDisk))))
        for task in growing {
            guard let reading = readings[task.record.folderOnDisk], rule.available(in: reading) < 0,
                let part = task.part
            else { continue }
            let total = task.machine.resource?.total
            do throws(DownloadError) {
                let allocated = try await services.status(of: part.file).allocated
                // A file whose bytes are all allocated takes no more.
                if let total, allocated >= total { continue }
            } catch { logger.debug("\(error)") }
            guard task.part === part, task.machine.state == .transferring else { continue }
            news.append((task, .spaceMissing(.diskFull, SpaceError.reserved(part.path, rule.reserve))))
        }
        return news
    }

    /// - Returns: the space by folder, without the folders whose file system does not report it.
    func freeSpace(near folders: [String], isolation: isolated (any Actor)? = #isolation) async -> [String: VolumeSpace]
    {
        let (disk, logger) = (services.disk, services.logger)
        return await executor.run {
            var readings: [String: VolumeSpace] = [:]
            for folder in folders {
                do throws(DiskError) { readings[folder] = try disk.freeSpace(near: folder) } catch {
                    // The call that creates the file reports the error in more detail.
                    logger.debug("\(error.sentence)")
                }
            }
            return readings
        }
    }

    // MARK: Counting

    /// Updates the wait list and the usage after a change of state.
    func stateChanged(_ task: DownloadTask) {
        switch task.machine.state {
        case .completed, .cancelled: waitList.forgetSurprises(task.id)
        default: break
        }
        count(task)
    }

    /// Counts the bytes of a download against the quota, if there is one.
    private func count(_ task: DownloadTask) {
        guard quota != nil else { return }
        let (received, before) = (task.machine.persisted.count, task.bytesAtRest)
        switch task.machine.state {
        case .completed:
            let size = task.earlierFile.status == nil ? task.record.finished?.size ?? received : 0
            usage.end(task.id, leaving: size, had: before)
        case .cancelled:
            usage.end(task.id, leaving: 0, had: before)
        case .queued, .paused, .failed:
            usage.end(task.id, leaving: before, had: before)
        case .inspectingDisk, .awaitingURL, .choosing, .comparing, .connecting, .preparing, .transferring, .backingOff,
            .verifying, .publishing:
            usage.set(task.id, max(task.record.total ?? 0, received), had: before)
        }
    }

    /// Queries the store for the sum of the downloads that do not run, if it is unknown.
    private func countUsage(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        // A change of the running downloads during the query makes the sum invalid. The fifth attempt accepts any sum.
        for attempt in 1...5 where !usage.isKnown {
            let generation = usage.generation
            let sum = try await store.storedBytes(besides: Array(usage.running.keys)).all
            usage.settle(sum, at: attempt == 5 ? usage.generation : generation)
        }
    }

    /// Whether the check for finished files that another program has removed is due.
    var isRecountDue: Bool {
        guard quota != nil, waitList.waitsForQuota else { return false }
        return usage.recountedAt.map { time.now() - $0 >= Self.recountInterval } ?? true
    }

    /// Counts the usage again, without the finished files that another program has removed. The store still counts
    /// these files.
    private func recount(without missingBytes: Int64, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        usage.recountedAt = time.now()
        let generation = usage.generation
        let sum = try await store.storedBytes(besides: Array(usage.running.keys)).all
        usage.settle(sum - missingBytes, at: generation)
    }

    // MARK: Waiting

    /// Adds a download that waits for space.
    func wait(_ task: DownloadTask, _ reason: HoldReason) {
        let record = task.record
        // The quota already counts the whole length of a download that has begun.
        let has = reason == .quota ? task.bytesAtRest : task.machine.persisted.count
        waitList.add(
            .init(
                id: task.id,
                reason: reason,
                folder: record.folderOnDisk,
                needed: record.total.map { max(0, $0 - has) },
                priority: record.request.priority,
                position: record.position,
                since: time.now()
            )
        )
    }

    /// Calls `look` once a second until it returns `false`, because no kernel reports when a disk has space again.
    ///
    /// - Parameter look: returns `false` to end.
    func startPolling(_ look: @escaping @Sendable () async -> Bool) {
        if poll == nil { poll = Self.polling(time.sleep, look) }
    }

    private static func polling(
        _ sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ look: @escaping @Sendable () async -> Bool
    ) -> Task<Void, Never> {
        Task {
            // `sleep` throws only when the downloader shuts down and cancels the task.
            while (try? await sleep(interval)) != nil {
                guard await look() else { return }
            }
        }
    }

    func stopPolling() {
        poll?.cancel()
        poll = nil
    }

    /// Returns the downloads for which there is space now.
    ///
    /// - Parameter missingBytes: the sum of the sizes of removed finished files; `nil` where ``isRecountDue`` was
    ///   `false`.
    func ready(missingBytes: Int64?, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> [DiskSpaceWaitList.Waiter]
    {
        var supply = DiskSpaceWaitList.Supply(rule: rule, disks: await freeSpace(near: waitList.folders))
        if let quota, waitList.waitsForQuota {
            if let missingBytes { try await recount(without: missingBytes) }
            try await countUsage()
            supply.quota = (quota - usage.used, quota)
        } else if waitList.waitsForQuota {
            // The quota that these downloads wait for has been lifted.
            supply.quota = (.max, .max)
        }
        return waitList.ready(supply, at: time.now())
    }
}
