/// Telling downloads what to do: one, many or all. Every call returns when it has really happened.
extension Downloader {
    // MARK: One

    /// Stops a download and keeps what it has. Returns when it is on disk and the connection closed.
    ///
    /// A download that has ended or is paused stays as it is.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` when the store has no such download,
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``, as all of these calls.
    public func pause(_ id: DownloadID) async throws(DownloadError) {
        try checkIsOpen()
        if let task = tasks[id] { return try await tell(.pauseRequested, task) }
        if try await pause(.ids([id])) == 0 { try await checkIsKnown(id) }
    }

    /// Queues a paused or failed download; it goes on where it was. If another process runs it by now, its run fails with
    /// ``DownloadError/Code/inUse``.
    ///
    /// - Throws: as ``pause(_:)-(DownloadID)``.
    public func resume(_ id: DownloadID) async throws(DownloadError) {
        try checkIsOpen()
        if let task = tasks[id] { return try await tell(.resumeRequested, task) }
        guard try await resume(.ids([id]), from: ["paused", "failed"]) == 0 else { return }
        try await checkIsKnown(id)
        try await tellHolderWhoseItIs(id)
    }

    /// Who has a handle of a download that was let go of, and that another process runs by now, hears so.
    private func tellHolderWhoseItIs(_ id: DownloadID) async throws(DownloadError) {
        guard configuration.restoration == .onRequest, let hub = hubs.existing(id),
            let saved = try await store.find(id: id.description), let owner = saved.record.owner,
            owner != store.owner.number, store.owner.isAlive(owner), tasks[id] == nil
        else { return }
        var record = saved.record
        let error = FilePlacement.inUse(
            record.partPath ?? record.request?.url.masked ?? "The file",
            owner: record.ownerProcess
        )
        record.status = .failed
        record.error = error
        let snapshot = DownloadSnapshot(id, record, receivedBytes: saved.progress?.received ?? 0)
        hub.changed(snapshot, outcome: .failed(error))
    }

    /// Drops an unfinished download: its bytes are deleted and its record forgotten. A finished one is left as it is.
    /// Returns when that has happened.
    ///
    /// - Throws: as ``pause(_:)-(DownloadID)``.
    public func cancel(_ id: DownloadID) async throws(DownloadError) {
        try checkIsOpen()
        if let task = tasks[id] { return try await tell(.cancelRequested, task) }
        if try await cancel(.ids([id])) == 0 { try await checkIsKnown(id) }
    }

    /// Forgets a download in whatever state; an unfinished one is cancelled first.
    ///
    /// - Parameter deletingFile: deletes a finished file too, if it is still the one that was downloaded. From then on
    ///   ``Download/result()`` of its handles throws ``DownloadError/Code/cancelled``; without it they go on saying where the
    ///   file is.
    /// - Throws: ``DownloadError`` when the file or the record could not be removed; with code
    ///   ``DownloadError/Code/notFound`` when the store has no such download; ``DownloadError/Code/shutDown``.
    public func remove(_ id: DownloadID, deletingFile: Bool = false) async throws(DownloadError) {
        if try await remove(.ids([id]), deletingFiles: deletingFile) == 0 { try await checkIsKnown(id) }
    }

    private func tell(_ event: DownloadMachine.Event, _ task: DownloadTask) async throws(DownloadError) {
        // Cancelled before this call: its record is gone, or is about to be.
        let isGone = task.machine.state == .cancelled
        send(event, to: task)
        await settled(task)
        evict(task)
        if isGone { throw .notFound(task.id) }
    }

    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` when the store has no download with this ID.
    func checkIsKnown(_ id: DownloadID) async throws(DownloadError) {
        if let task = tasks[id], task.machine.state != .cancelled { return }
        try checkIsOpen()
        guard try await store.count(.ids([id])) > 0 else { throw .notFound(id) }
    }

    // MARK: Many

    /// Pauses every download of a selection that waits or runs.
    ///
    /// - Returns: how many.
    @discardableResult
    public func pause(_ selection: DownloadSelection) async throws(DownloadError) -> Int {
        try await withCatalogLock { downloader throws(DownloadError) in
            var (present, rest) = try await downloader.resolve(selection)
            present.removeAll { !$0.isUnderWay }
            await downloader.tellAll(.pauseRequested, present)
            rest.add("(status = 'queued' OR hold IS NOT NULL)")
            let groups = try await downloader.listenedGroups(rest)
            let ids = try await downloader.store.ids(rest)
            // None of them may get a slot while the store is being told.
            for id in ids { downloader.queue.leave(id) }
            do throws(DownloadError) {
                try await downloader.store.change("status = 'paused', hold = NULL, error = NULL", rest)
            } catch {
                for item in try await downloader.store.queueItems(rest) { downloader.queue.enqueue(item) }
                throw error
            }
            downloader.space.forget(ids)
            downloader.tellHolders(of: ids, .paused, in: groups)
            downloader.startQueuedDownloads()
            return present.count + ids.count
        }
    }

    /// Queues every paused download of a selection; what failed is left: see ``retry(_:)``.
    ///
    /// - Returns: how many.
    @discardableResult
    public func resume(_ selection: DownloadSelection) async throws(DownloadError) -> Int {
        try await resume(selection, from: ["paused"])
    }

    /// Queues every failed download of a selection.
    ///
    /// - Returns: how many.
    @discardableResult
    public func retry(_ selection: DownloadSelection = .all) async throws(DownloadError) -> Int {
        try await resume(selection, from: ["failed"])
    }

    private func resume(_ selection: DownloadSelection, from statuses: Set<String>) async throws(DownloadError) -> Int {
        try await withCatalogLock { downloader throws(DownloadError) in
            var (present, rest) = try await downloader.resolve(selection)
            present.removeAll { !statuses.contains($0.restName) }
            await downloader.tellAll(.resumeRequested, present)
            var backingOff = rest
            backingOff.add("status IN (\(statuses.sorted().map { "'\($0)'" }.joined(separator: ", ")))")
            let groups = try await downloader.listenedGroups(backingOff)
            let ids = try await downloader.store.ids(backingOff)
            try await downloader.store.change(
                "status = 'queued', hold = NULL, error = NULL, finishedAt = NULL",
                backingOff
            )
            for item in try await downloader.store.queueItems(rest) { downloader.queue.enqueue(item) }
            downloader.space.forget(ids)
            downloader.tellHolders(of: ids, .queued, in: groups)
            downloader.startQueuedDownloads()
            return present.count + ids.count
        }
    }

    /// Drops every unfinished download of a selection, with its bytes; finished ones are left as they are.
    ///
    /// - Returns: how many.
    @discardableResult
    public func cancel(_ selection: DownloadSelection) async throws(DownloadError) -> Int {
        try await withCatalogLock { downloader throws(DownloadError) in
            let (present, rest) = try await downloader.resolve(selection)
            return try await downloader.cancel(present, rest)
        }
    }

    private func cancel(_ present: [DownloadTask], _ rest: StoreCondition) async throws(DownloadError) -> Int {
        var unfinished = rest
        unfinished.add("status <> 'completed'")
        // What has bytes on the disk is taken into memory for it.
        var begun = unfinished
        begun.add("partPath IS NOT NULL")
        var present = present.filter { !$0.isComplete }
        for id in try await store.ids(begun) {
            if let task = try await load(id) { present.append(task) }
        }
        let told = Set(present.map(\.id))
        await tellAll(.cancelRequested, present)
        let groups = try await listenedGroups(unfinished)
        let ids = try await store.ids(unfinished)
        for id in ids { queue.leave(id) }
        space.forget(ids)
        stored.invalidate()
        let removed = try await forget(unfinished)
        tellHolders(of: ids, .cancelled, in: groups)
        announce(removed)
        startQueuedDownloads()
        // What was told and is in the store still was removed with the others.
        return told.count + max(removed.count, ids.count) - ids.count { told.contains($0) }
    }

    /// Forgets every download of a selection, in whatever state; unfinished ones are cancelled first.
    ///
    /// - Parameter deletingFiles: deletes finished files too, as far as they are still those that were downloaded.
    /// - Returns: how many.
    /// - Throws: ``DownloadError`` when a file or the records could not be removed; what was not reached by then stays.
    @discardableResult
    public func remove(_ selection: DownloadSelection, deletingFiles: Bool = false) async throws(DownloadError) -> Int {
        try await withCatalogLock { downloader throws(DownloadError) in
            var condition = StoreCondition.ids(try await downloader.ids(of: selection))
            try await downloader.leaveOthers(&condition)
            let ids = try await downloader.store.ids(condition)
            let present = ids.compactMap { downloader.tasks[$0] }
            for task in present where task.isComplete { await downloader.settled(task) }
            _ = try await downloader.cancel(present, condition)
            if deletingFiles {
                for row in try await downloader.store.list(condition) { try await downloader.deleteFile(row.record) }
            }
            let removed = try await downloader.forget(condition)
            if deletingFiles { downloader.tellHoldersOfRemovedFiles(ids) }
            downloader.announce(removed)
            downloader.stored.invalidate()
            return ids.count
        }
    }

    /// Deletes a finished file that is still the one that was downloaded.
    private func deleteFile(_ record: DownloadRecord) async throws(DownloadError) {
        guard let path = record.finalPath, await isUnchanged(record) else { return }
        let disk = disk
        try await onDisk { () throws(DiskError) in try disk.remove(path) }
    }

    // MARK: Selections

    /// Those of a selection that are in memory, and the condition for all others.
    private func resolve(_ selection: DownloadSelection) async throws(DownloadError) -> ([DownloadTask], StoreCondition)
    {
        var all: StoreCondition
        switch selection.kind {
        case .query(let query) where query.limit == nil && query.offset == 0: all = condition(query)
        default: all = .ids(try await ids(of: selection))
        }
        all.order = ""
        try await leaveOthers(&all)
        var inMemory = all
        inMemory.add(isIn: tasks.keys.map(\.description), "id")
        let present = try await store.ids(inMemory).compactMap { tasks[$0] }
        all.add(besides: tasks.keys)
        return (present, all)
    }

    /// What other processes run is theirs.
    private func leaveOthers(_ condition: inout StoreCondition) async throws(DownloadError) {
        guard configuration.restoration == .onRequest else { return }
        try await store.forgetDeadOwners()
        condition.add("(owner IS NULL OR owner = \(store.owner.number))")
    }

    func ids(of selection: DownloadSelection) async throws(DownloadError) -> [DownloadID] {
        switch selection.kind {
        case .ids(let ids): return ids
        case .query(let query): return try await store.ids(condition(query))
        case .predicate(let isWanted):
            var ids: [DownloadID] = []
            var query = DownloadQuery(limit: 1000)
            while true {
                let page = try await store.page(condition(query))
                ids += snapshots(of: page.rows).filter(isWanted).map(\.id)
                query.offset += page.count
                if page.count < 1000 { return ids }
            }
        }
    }

    private func tellAll(_ event: DownloadMachine.Event, _ tasks: [DownloadTask]) async {
        for task in tasks { send(event, to: task) }
        for task in tasks { await settled(task) }
        for task in tasks { evict(task) }
    }

    /// Who has a handle of a download that is not in memory hears what has become of it.
    ///
    /// - Parameter groups: how many of them belong to the groups that are listened to.
    func tellHolders(
        of ids: [DownloadID],
        _ state: DownloadSnapshot.State,
        in groups: [DownloadStore.GroupShare]
    ) {
        announceTogether(state, count: ids.count, in: groups)
        for id in ids where tasks[id] == nil {
            guard let hub = hubs.existing(id) else { continue }
            let snapshot = hub.snapshot.backingOff(state)
            hub.changed(stored(snapshot, snapshot.host), outcome: state == .cancelled ? .cancelled : nil)
        }
        lookWhoIsIdle()
    }

    /// Who has a handle of a finished download that is forgotten hears that its file is gone too: what it said of it until now
    /// is not true any more.
    func tellHoldersOfRemovedFiles(_ ids: [DownloadID]) {
        for id in ids {
            guard let hub = hubs.existing(id), case .completed? = hub.outcome else { continue }
            hub.changed(hub.snapshot.backingOff(.cancelled), outcome: .failed(Self.isRemoved))
        }
    }

    private static let isRemoved = DownloadError(.cancelled, "The download was removed, and its file with it.")
}

extension DownloadTask {
    fileprivate var isComplete: Bool {
        if case .completed = machine.state { return true }
        return false
    }

    /// Waits or runs, or will by itself.
    fileprivate var isUnderWay: Bool {
        switch machine.state {
        case .paused: machine.hold != nil
        case .completed, .failed, .cancelled: false
        default: true
        }
    }

    /// As the store calls it.
    fileprivate var restName: String {
        switch machine.state {
        case .paused: "paused"
        case .failed: "failed"
        default: ""
        }
    }
}
