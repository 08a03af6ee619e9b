/// Pauses, resumes, cancels and removes downloads. Every call returns when the operation is complete.
extension Downloader {
    // MARK: One

    /// Pauses a download; see ``Download/pause()``.
    package func pause(_ id: DownloadID) async throws(DownloadError) {
        try checkIsOpen()
        // While the disk of the store is full, the store cannot record the pause. The pause would be lost when the
        // process ends.
        if let failure = store.lackOfSpace { throw failure }
        if let task = tasks[id] { return try await tell(.pauseRequested, task) }
        if try await pause(.ids([id])) == 0 { try await checkIsKnown(id) }
    }

    /// Queues a paused or failed download; see ``Download/resume()``.
    package func resume(_ id: DownloadID) async throws(DownloadError) {
        try checkIsOpen()
        if let task = tasks[id] { return try await tell(.resumeRequested, task) }
        guard try await resume(.ids([id]), from: [.paused, .failed]) == 0 else { return }
        try await checkIsKnown(id)
        try await tellHolderWhoseItIs(id)
    }

    /// Fails the run of a handle if its download was evicted from memory and another process runs the download by now.
    private func tellHolderWhoseItIs(_ id: DownloadID) async throws(DownloadError) {
        guard configuration.storage.restoration == .onRequest, let hub = hubs.existing(id),
            let saved = try await store.find(id: id.description), let owner = saved.record.ownerNumber,
            owner != store.owner.number, store.owner.isAlive(owner), tasks[id] == nil
        else { return }
        var record = saved.record
        let error = FilePlacement.inUse(
            record.partPath ?? record.request.url.messageText,
            owner: record.ownerPID
        )
        record.fail(error)
        let snapshot = DownloadSnapshot(id, record, receivedBytes: saved.progress?.received ?? 0)
        hub.changed(snapshot, outcome: .failed(error))
    }

    /// Cancels an unfinished download; see ``Download/cancel()``.
    package func cancel(_ id: DownloadID) async throws(DownloadError) {
        try checkIsOpen()
        if let task = tasks[id] {
            try await store.checkCanBeWritten()
            return try await tell(.cancelRequested, task)
        }
        if try await cancel(.ids([id])) == 0 { try await checkIsKnown(id) }
    }

    /// Removes a download from the store in any state; see ``Download/remove(deletingFile:)``.
    package func remove(_ id: DownloadID, deletingFile: Bool = false) async throws(DownloadError) {
        if try await remove(.ids([id]), deletingFiles: deletingFile) == 0 { try await checkIsKnown(id) }
    }

    private func tell(_ event: DownloadMachine.Event, _ task: DownloadTask) async throws(DownloadError) {
        // If the download was cancelled before this call, its record is gone or about to be removed.
        let isGone = task.machine.state == .cancelled
        try await tellAll(event, [task])
        if isGone { throw .notFound(task.id) }
    }

    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` if the store has no download with this id.
    func checkIsKnown(_ id: DownloadID) async throws(DownloadError) {
        if let task = tasks[id], task.machine.state != .cancelled { return }
        try checkIsOpen()
        guard try await store.count(.ids([id])) > 0 else { throw .notFound(id) }
    }

    // MARK: Many

    /// Pauses those downloads of a filter that wait, run or are held, and keeps their bytes.
    ///
    /// - Returns: the number of downloads paused.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed``, ``DownloadError/Code/diskFull`` or
    ///   ``DownloadError/Code/shutDown``.
    @discardableResult
    public func pause(_ filter: DownloadFilter) async throws(DownloadError) -> Int {
        try await withCatalogLock { downloader throws(DownloadError) in
            if let failure = downloader.store.lackOfSpace { throw failure }
            var (present, rest) = try await downloader.resolve(filter)
            present.removeAll { !$0.isUnderWay }
            try await downloader.tellAll(.pauseRequested, present)
            rest = rest.onlyQueuedOrHeld()
            let groups = try await downloader.notifications.listenedGroups(rest)
            let noticed = try await downloader.noticed(rest)
            // Takes the downloads out of the queue first, so that none of them gets a slot while the store is being
            // changed.
            if filter.isUnrestricted, downloader.configuration.storage.restoration == .everything {
                downloader.scheduler.leaveAllOutOfMemory()
            } else {
                downloader.scheduler.leave(try await downloader.store.ids(rest))
            }
            let count: Int
            do throws(DownloadError) {
                count = try await downloader.store.pause(rest)
            } catch {
                try await downloader.scheduler.fill(rest)
                throw error
            }
            downloader.space.forget(noticed)
            downloader.scheduler.tellHolders(of: noticed, count: count, .paused, in: groups)
            downloader.scheduler.startQueuedDownloads()
            return present.count + count
        }
    }

    /// Queues the paused downloads of a filter. Failed downloads do not change (see ``retry(_:)``), unless the filter
    /// names them: by ids, by keys, or by a set of states that has ``DownloadSnapshot/State/failed``. So
    /// `resume(.ids([id]))` does the same as ``Download/resume()``.
    ///
    /// - Returns: the number of downloads queued.
    /// - Throws: as ``pause(_:)``.
    @discardableResult
    public func resume(_ filter: DownloadFilter) async throws(DownloadError) -> Int {
        let namesFailed = filter.ids != nil || filter.keys != nil || filter.states?.contains(.failed) == true
        return try await resume(filter, from: namesFailed ? [.paused, .failed] : [.paused])
    }

    /// Queues the failed downloads of a filter.
    ///
    /// - Returns: the number of downloads queued.
    /// - Throws: as ``pause(_:)``.
    @discardableResult
    public func retry(_ filter: DownloadFilter = .all) async throws(DownloadError) -> Int {
        try await resume(filter, from: [.failed])
    }

    private func resume(_ filter: DownloadFilter, from statuses: Set<DownloadRecord.Status>)
        async throws(DownloadError)
        -> Int
    {
        try await withCatalogLock { downloader throws(DownloadError) in
            var (present, rest) = try await downloader.resolve(filter)
            present.removeAll { $0.statusAtRest.map { !statuses.contains($0) } ?? true }
            try await downloader.tellAll(.resumeRequested, present)
            let stopped = rest.only(statuses)
            let groups = try await downloader.notifications.listenedGroups(stopped)
            let noticed = try await downloader.noticed(stopped)
            let count = try await downloader.store.requeue(stopped)
            try await downloader.scheduler.fill(rest)
            downloader.space.forget(noticed)
            downloader.scheduler.tellHolders(of: noticed, count: count, .queued, in: groups)
            downloader.scheduler.startQueuedDownloads()
            return present.count + count
        }
    }

    /// Deletes the unfinished downloads of a filter, with their bytes. Finished downloads do not change.
    ///
    /// - Returns: the number of downloads cancelled.
    /// - Throws: as ``pause(_:)``.
    @discardableResult
    public func cancel(_ filter: DownloadFilter) async throws(DownloadError) -> Int {
        try await withCatalogLock { downloader throws(DownloadError) in
            let (present, rest) = try await downloader.resolve(filter)
            return try await downloader.cancel(present, rest)
        }
    }

    private func cancel(_ present: [DownloadTask], _ rest: StoreCondition) async throws(DownloadError) -> Int {
        let unfinished = rest.onlyUnfinished()
        // Checks the store before the tasks delete files, because the rows of these files have to be deleted too.
        try await store.checkCanBeWritten()
        // Loads the downloads that have bytes on disk, because their tasks delete the bytes.
        var present = present.filter { !$0.isComplete }
        for id in try await store.ids(unfinished.onlyBegun()) {
            if let task = try await catalog.load(id) { present.append(task) }
        }
        let told = Set(present.map(\.id))
        try await tellAll(.cancelRequested, present)
        let ids = try await store.ids(unfinished)
        // Saves the work below if no download of the filter is unfinished, which is usual if an application removes
        // finished downloads.
        if told.isEmpty, ids.isEmpty { return 0 }
        // Downloads that are still in the store do not count as cancelled: they completed before their tasks got
        // `cancelRequested`, or belong to another process by now.
        let left = told.isEmpty ? [] : Set(try await store.ids(.ids(Array(told))))
        let cancelled = present.count { $0.machine.state == .cancelled && !left.contains($0.id) }
        let groups = try await notifications.listenedGroups(unfinished)
        scheduler.leave(ids)
        space.forget(ids)
        space.invalidateUsage()
        let removed = try await store.removeRows(unfinished, isListed: broadcast.isHeard)
        scheduler.tellHolders(of: ids, count: ids.count, .cancelled, in: groups)
        notifications.announce(removed)
        scheduler.startQueuedDownloads()
        return cancelled + max(removed.count, ids.count)
    }

    /// Removes the downloads of a filter from the store in any state; unfinished downloads are cancelled first.
    ///
    /// - Parameters:
    ///   - filter: the downloads.
    ///   - deletingFiles: also deletes finished files that are unchanged.
    /// - Returns: the number of downloads removed.
    /// - Throws: ``DownloadError`` if a file or the records cannot be removed, or with code
    ///   ``DownloadError/Code/shutDown``. Downloads that were not reached by then stay.
    @discardableResult
    public func remove(_ filter: DownloadFilter, deletingFiles: Bool = false) async throws(DownloadError) -> Int {
        try await removal(of: filter, deletingFiles: deletingFiles).count
    }

    /// The result of ``removal(of:deletingFiles:)``.
    package struct Removal: Sendable {
        /// Number of downloads removed.
        package let count: Int
        /// Number of finished files that stay, because they were changed or replaced since.
        package let keptFiles: Int
    }

    /// Does what ``remove(_:deletingFiles:)`` does, and also counts the files that stay although `deletingFiles` is
    /// set.
    package func removal(of filter: DownloadFilter, deletingFiles: Bool) async throws(DownloadError) -> Removal {
        try await withCatalogLock { downloader throws(DownloadError) in
            var ids = try await downloader.ids(of: filter)
            var condition = StoreCondition.ids(ids)
            if try await downloader.leaveOthers(&condition) { ids = try await downloader.store.ids(condition) }
            let present = ids.compactMap { downloader.tasks[$0] }
            for task in present where task.isComplete { await task.settled() }
            _ = try await downloader.cancel(present, condition)
            var kept: Set<DownloadID> = []
            if deletingFiles {
                for row in try await downloader.store.list(condition)
                where try await !downloader.deleteFile(row.record) { kept.insert(row.id) }
            }
            let removed = try await downloader.store.removeRows(condition, isListed: downloader.broadcast.isHeard)
            if deletingFiles { downloader.tellHoldersOfRemovedFiles(ids.filter { !kept.contains($0) }) }
            downloader.notifications.announce(removed)
            downloader.space.invalidateUsage()
            return Removal(count: ids.count, keptFiles: kept.count)
        }
    }

    /// Deletes a finished file that is unchanged.
    ///
    /// - Returns: `false` if the file stays: the file at the recorded path has changed, is another one, or cannot be
    ///   examined.
    private func deleteFile(_ record: DownloadRecord) async throws(DownloadError) -> Bool {
        guard record.status == .completed, let path = record.finalPath else { return true }
        let state: FileState
        do throws(DownloadError) { state = try await services.fileState(record) } catch { return false }
        guard state == .unchanged else { return state == .missing }
        let disk = disk
        try await services.onDisk { () throws(DiskError) in try disk.remove(path) }
        return true
    }

    // MARK: Filters

    /// Splits the downloads of a filter. Returns the tasks of the downloads in memory, and a condition that matches all
    /// other downloads of the filter.
    private func resolve(_ filter: DownloadFilter) async throws(DownloadError) -> ([DownloadTask], StoreCondition) {
        let filter = try await engine.reader.resolved(filter)
        // Reads the ids before the change, because a changed download may not match the states of the filter any more.
        let staysTrue = filter.isWhole && filter.states == nil
        var all = staysTrue ? engine.reader.condition(filter) : .ids(try await ids(of: filter))
        all.order = ""
        try await leaveOthers(&all)
        var inMemory = all
        inMemory.add(isIn: tasks.keys.map(\.description), "id")
        let present = try await store.ids(inMemory).compactMap { tasks[$0] }
        all.add(besides: tasks.keys)
        return (present, all)
    }

    /// Returns the matching downloads that have a handle or wait for disk space. Even of a million matching
    /// downloads, usually only a few do.
    private func noticed(_ condition: StoreCondition) async throws(DownloadError) -> [DownloadID] {
        let ids = hubs.all.map(\.id) + space.heldIDs
        guard !ids.isEmpty else { return [] }
        var noticed = condition
        noticed.add(isIn: ids.map(\.description), "id")
        return try await store.ids(noticed)
    }

    /// Excludes the downloads that other processes own.
    ///
    /// - Returns: `false` if the store belongs to this downloader alone, so that nothing had to be excluded.
    @discardableResult
    private func leaveOthers(_ condition: inout StoreCondition) async throws(DownloadError) -> Bool {
        guard configuration.storage.restoration == .onRequest else { return false }
        try await store.forgetDeadOwners()
        condition = condition.onlyFree(for: store.owner)
        return true
    }

    func ids(of filter: DownloadFilter) async throws(DownloadError) -> [DownloadID] {
        try await store.ids(engine.reader.condition(try await engine.reader.resolved(filter)))
    }

    /// Sends an event to tasks. Returns when the tasks have handled it and the store has recorded the outcome.
    ///
    /// - Throws: the error of the store if it could not record the pause of a task.
    private func tellAll(_ event: DownloadMachine.Event, _ tasks: [DownloadTask]) async throws(DownloadError) {
        // Keeps the tasks in memory until their pauses are recorded. Otherwise the row of a download without a recorded
        // pause would put that download back in the queue.
        for task in tasks { task.steps.callBegan() }
        for task in tasks { task.send(event) }
        for task in tasks { await task.settled() }
        let failure = await DownloadTask.recordPauses(of: tasks)
        // Writes the noted records, so that another process finds the stopped downloads without an owner.
        await store.flush()
        for task in tasks {
            task.steps.callEnded()
            scheduler.evict(task)
        }
        if let failure { throw failure }
    }

    /// Reports ``DownloadError/Code/cancelled`` as the outcome of finished downloads that were removed together with
    /// their files.
    func tellHoldersOfRemovedFiles(_ ids: [DownloadID]) {
        for id in ids {
            guard let hub = hubs.existing(id), case .completed? = hub.outcome else { continue }
            hub.changed(hub.snapshot.atRest(.cancelled), outcome: .failed(Self.isRemoved))
        }
    }

    private static let isRemoved = DownloadError(.cancelled, "The download was removed, and its file with it.")
}

extension DownloadTask {
    fileprivate var isComplete: Bool {
        if case .completed = machine.state { return true }
        return false
    }

    /// Whether the download waits, runs or is held. Also `true` if the download is paused, but the store has it as
    /// queued because it could not record the pause.
    fileprivate var isUnderWay: Bool {
        switch machine.state {
        case .paused: machine.hold != nil || ownership.isPauseUnrecorded
        case .completed, .failed, .cancelled: false
        default: true
        }
    }

    /// The status of a paused or failed download in the store; `nil` in any other state.
    fileprivate var statusAtRest: DownloadRecord.Status? {
        switch machine.state {
        case .paused: .paused
        case .failed: .failed
        default: nil
        }
    }
}
