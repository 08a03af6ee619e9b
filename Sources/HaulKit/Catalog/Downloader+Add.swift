internal import Foundation

extension Downloader {
    /// Adds a download, or continues the existing download that has the same ``DownloadRequest/key``, the same named
    /// file, or the same URL into the same folder (``DownloadRequest/onDuplicate``). A request for the same URL and
    /// folder adds another download if its ``DownloadRequest/method`` differs, or if it suggests a name
    /// (``DownloadRequest/suggestedName``) that the existing file neither has nor may get.
    ///
    /// A paused or failed download is resumed with the values of the new request, except its priority. If the new
    /// request has no checksum, the download keeps its own. With the same URL, the download also keeps its header
    /// fields and mirrors if the new request has none. A finished download whose file is unchanged stays as it is;
    /// otherwise the file is fetched again.
    ///
    /// If the file is a film with gaps, and the request allows gaps, the call asks the server for a few of the missing
    /// segments, for up to 20 s. If the server has any of them now, the film is fetched again, and the new film
    /// replaces the earlier one when it is complete.
    ///
    /// - Returns: the handle of the new or the existing download. Later failures are events of the download.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``,
    ///   ``DownloadError/Code/unsupportedScheme``, ``DownloadError/Code/invalidDestination``,
    ///   ``DownloadError/Code/invalidHeader`` or ``DownloadError/Code/invalidStream``; ``DownloadError/Code/inUse`` if
    ///   the named file is being downloaded from another URL, the download of the key runs and has another destination,
    ///   or the running download will not be checked with the digest of `request`; ``DownloadError/Code/alreadyAdded``;
    ///   a disk code if the file of a finished download cannot be checked or an unfinished download cannot be moved;
    ///   ``DownloadError/Code/storeFailed``, or ``DownloadError/Code/diskFull`` while the disk of the store is full;
    ///   ``DownloadError/Code/shutDown``.
    public func add(_ request: DownloadRequest) async throws(DownloadError) -> Download {
        try checkSource(request)
        let checked = try Self.checked(request)
        let groups = Set([checked].compactMap(\.group))
        idle.additionBegan(groups)
        defer { idle.additionEnded(groups) }
        let request = await renewed(checked)
        return try await withCatalogLock { downloader throws(DownloadError) in
            try await downloader.addOne(request, try await downloader.store.find(request))
        }
    }

    /// Adds a download. `saved` is the download that the store already has for the request; `nil` if there is none.
    func addOne(_ request: DownloadRequest, _ saved: DownloadStore.Saved?) async throws(DownloadError) -> Download {
        try checkIsOpen()
        try store.checkTakesMore()
        if let saved, let download = try await join(saved, request) { return download }
        try checkIsOpen()
        let record = catalog.newRecord(request)
        let download = handle(DownloadID(record.id) ?? DownloadID(), record, isNew: !request.startsPaused)
        try await store.commit(record, nil, durably: true)
        announceAddition(of: record)
        if request.startsPaused { return download }
        scheduler.enqueue(record)
        // The run conditions may have changed while the record was being written.
        if let hub = hubs.existing(download.id), hub.outcome == nil {
            let (last, present) = (hub.snapshot, engine.environment.withReason(hub.snapshot, record.host))
            if present != last { hub.changed(present) }
        }
        scheduler.startQueuedDownloads()
        return download
    }

    func announceAddition(of record: DownloadRecord, received: Int64 = 0) {
        guard let id = DownloadID(record.id) else { return }
        notifications.announceAddition(
            engine.environment.withReason(DownloadSnapshot(id, record, receivedBytes: received), record.host)
        )
    }

    // MARK: Existing downloads

    /// Continues the existing download if possible, and returns its handle; `nil` if the download cannot serve the
    /// request.
    private func join(_ saved: DownloadStore.Saved, _ request: DownloadRequest) async throws(DownloadError) -> Download?
    {
        guard let id = DownloadID(saved.record.id) else { return nil }
        switch request.onDuplicate {
        case .join, .joinUnlessPaused:
            try Self.checkOwner(of: request, (tasks[id]?.record ?? saved.record).request)
            if request.onDuplicate == .joinUnlessPaused, isPausedByUser(saved.record, tasks[id]) {
                return try await find(id: id)
            }
        case .addAnyway:
            if request.key == nil, case .folder = request.destination { return nil }
            throw Self.isPresent(request)
        case .refuse: throw Self.isPresent(request)
        }
        if request.startsPaused { return try await joinPaused(saved, request, id) }
        if let task = tasks[id] {
            if let download = try await again(task, request) { return download }
            // The task has just ended. The store has the result.
            guard let saved = try await store.find(id: saved.record.id) else { return nil }
            return try await go(on: saved, request)
        }
        var record = saved.record
        if scheduler.queue.waits(id), record.isBound(for: request.destination), !record.merge(request),
            record == saved.record
        {
            return handle(id, record, received: saved.progress?.received ?? 0)
        }
        return try await go(on: saved, request)
    }

    /// Returns the handle of the existing download for a request that starts paused, and starts nothing. Merges the
    /// request into a download that is queued, paused or failed.
    private func joinPaused(
        _ saved: DownloadStore.Saved,
        _ request: DownloadRequest,
        _ id: DownloadID
    ) async throws(DownloadError) -> Download? {
        var record = tasks[id]?.record ?? saved.record
        guard record.isBound(for: request.destination), record.status != .completed else {
            return try await find(id: id)
        }
        if let task = tasks[id] {
            switch task.machine.state {
            case .queued, .paused, .failed:
                try await task.merge(request, isMoved: false) { catalog.factory.settings($0) }
                record = task.record
            case .completed, .cancelled: return try await find(id: id)
            default:
                try Self.check(request, against: record)
                return try await find(id: id)
            }
        } else if !record.merge(request), record == saved.record {
            return try await find(id: id)
        }
        try await store.commit(record, nil, durably: true)
        return try await find(id: id)
    }

    /// Refuses a request for a running download if the request has another digest than the download.
    private static func check(_ request: DownloadRequest, against record: DownloadRecord) throws(DownloadError) {
        guard let wanted = request.checksum, wanted != record.request.checksum else { return }
        let state = record.request.checksum == nil ? "without a digest" : "with another digest"
        throw DownloadError(
            .inUse,
            "\(record.finalPath ?? "This file") is being downloaded already, \(state). Pause or cancel it, then add it again."
        )
    }

    private func isPausedByUser(_ record: DownloadRecord, _ task: DownloadTask?) -> Bool {
        if let task { return task.machine.state == .paused && task.machine.hold == nil }
        return record.status == .paused && record.hold == nil
    }

    /// Refuses to join the download of another owner, because the request would see it and change it.
    private static func checkOwner(of request: DownloadRequest, _ existing: DownloadRequest) throws(DownloadError) {
        guard let owner = request.owner, owner != existing.owner else { return }
        throw isPresent(request)
    }

    private static func isPresent(_ request: DownloadRequest) -> DownloadError {
        let name = request.key.map { "the key \"\($0)\"" } ?? request.url.messageText
        return DownloadError(.alreadyAdded, "There is a download of \(name) already.")
    }

    /// Continues a download in memory if possible, and returns its handle; `nil` if it has ended.
    private func again(_ task: DownloadTask, _ request: DownloadRequest) async throws(DownloadError) -> Download? {
        if case .completed = task.machine.state {
            await task.settled()
            return nil
        }
        let isBound = task.record.isBound(for: request.destination)
        if !isBound {
            await task.settled()
            guard tasks[task.id] === task else { return nil }
            try await checkMove(task.record, to: request.destination)
            guard tasks[task.id] === task else { return nil }
            if case .completed = task.machine.state { return nil }
        }
        switch task.machine.state {
        case .queued, .paused, .failed:
            try await task.merge(request, isMoved: !isBound) { catalog.factory.settings($0) }
        case .cancelled:
            await task.settled()
            return nil
        default:
            guard isBound else {
                throw DownloadError(
                    .inUse,
                    "The key \"\(request.key ?? "")\" is being downloaded already, to \(task.record.finalPath ?? "another place")."
                )
            }
            guard request.key != nil || task.record.request.asksTheSame(as: request) else {
                throw DownloadError(
                    .inUse,
                    "\(task.record.finalPath ?? "This file") is being downloaded already, from another URL."
                )
            }
            try Self.check(request, against: task.record)
        }
        task.send(.resumeRequested)
        return Download(task.id, self, task.hub)
    }

    /// Continues a download that is not in memory, and returns its handle; `nil` if the download cannot serve the
    /// request.
    private func go(on saved: DownloadStore.Saved, _ request: DownloadRequest) async throws(DownloadError) -> Download?
    {
        guard let task = try await takeUp(saved, request) else { return nil }
        try checkIsOpen()
        let download = Download(task.id, self, task.hub)
        guard task.machine.state == .queued else {
            task.reportAgain()
            idle.noteCompleteAddition()
            return download
        }
        catalog.insert(task)
        task.hub.changed(task.present())
        if task.ownership.isOwned {
            do throws(DownloadError) { try await store.commit(task.record, nil, durably: true) } catch {
                catalog.remove(task)
                throw error
            }
        }
        scheduler.queue.enqueue(task.queueItem)
        scheduler.startQueuedDownloads()
        return download
    }

    /// Checks the stream options and the destination of a request, and makes its paths absolute.
    ///
    /// - Parameter isAbsolute: whether the path of the destination is absolute already.
    static func checked(_ request: DownloadRequest, isAbsolute: Bool = false) throws(DownloadError) -> DownloadRequest {
        try request.stream?.check()
        if case .file(let path) = request.destination, FilePaths.isPart(path) {
            throw FilePaths.isNameOfPart(FilePaths.name(of: path))
        }
        if case .file(let path) = request.destination, !FilePaths.isNameOfFile(path) {
            throw DownloadError(
                .invalidDestination,
                path.isEmpty
                    ? "The path of the file is empty." : "\(path) names a folder, not a file. Add the name of the file."
            )
        }
        var request = request
        if isAbsolute { return request }
        let root = request.root
        switch request.destination {
        case .file(let path): request.destination = .file(path: try absolute(path))
        case .folder(let path): request.destination = .folder(path: try absolute(path))
        }
        // Sets the root again, because the assignment of the destination has removed it.
        request.root = if let root { try absolute(root) } else { nil }
        return request
    }

    static func absolute(_ path: String) throws(DownloadError) -> String {
        if FilePaths.isAbsoluteAndPlain(path) { return path }
        if let scheme = path.prefixMatch(of: /([A-Za-z][A-Za-z0-9+.\-]*):\/\//)?.1, scheme.lowercased() != "file" {
            throw DownloadError(
                .invalidDestination,
                "The file cannot be stored at a URL: \(URL.maskedText(path, knowing: nil)). Name a path, or give a file URL."
            )
        }
        return try FilePaths.absolute(try FilePaths.expanded(path))
    }
}
