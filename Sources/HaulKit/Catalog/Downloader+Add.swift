internal import Foundation

/// Adding a download, or continuing the existing download.
extension Downloader {
    /// Adds a download, or continues the existing download: the same ``DownloadRequest/key``, the same named file, or
    /// the same URL into the same folder (``DownloadRequest/onDuplicate``).
    ///
    /// A paused or failed download is resumed, with the header fields and the checksum of the new request if it has
    /// any. For a finished download whose file is unchanged the handle is returned; otherwise the file is fetched
    /// again.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``,
    ///   ``DownloadError/Code/unsupportedScheme`` or ``DownloadError/Code/invalidDestination``;
    ///   ``DownloadError/Code/inUse`` when the named file is being downloaded from another URL, or the key to another
    ///   place; ``DownloadError/Code/alreadyAdded``; a disk code when the file of a finished download cannot be checked
    ///   or an unfinished one cannot be moved; ``DownloadError/Code/storeFailed``; ``DownloadError/Code/shutDown``.
    ///   Later failures are events of the download.
    public func add(_ request: DownloadRequest) async throws(DownloadError) -> Download {
        let request = try Self.checked(request)
        try checkSource(request)
        let groups = additionBegan([request])
        defer { additionEnded(groups) }
        return try await withCatalogLock { downloader throws(DownloadError) in
            try await downloader.addOne(request, try await downloader.store.find(request))
        }
    }

    /// Nothing is idle as long as something is being added: see ``isIdle``.
    ///
    /// - Returns: the groups that are added to.
    func additionBegan(_ requests: [DownloadRequest]) -> Set<String> {
        catalog.pendingAdditions += 1
        let groups = Set(requests.compactMap(\.group))
        idle.additionBegan(groups)
        return groups
    }

    func additionEnded(_ groups: Set<String> = []) {
        catalog.pendingAdditions -= 1
        idle.additionEnded(groups)
        if !isShuttingDown { noteIdle() }
    }

    static let isShutDown = DownloadError(.shutDown, "The downloader has been shut down.")

    /// Adds a download, given what the store has of it.
    func addOne(_ request: DownloadRequest, _ saved: DownloadStore.Saved?) async throws(DownloadError) -> Download {
        try checkIsOpen()
        if let saved, let download = try await join(saved, request) { return download }
        try checkIsOpen()
        let record = newRecord(request)
        let download = handle(DownloadID(record.id) ?? DownloadID(), record, isNew: true)
        try await store.commit(record, nil, durably: true)
        announceAddition(of: record)
        line(up: record, request)
        // The conditions may have changed while the record was being written.
        if let hub = hubs.existing(download.id), hub.outcome == nil {
            let (last, present) = (hub.snapshot, withReason(hub.snapshot, record.host))
            if present != last { hub.changed(present) }
        }
        startQueuedDownloads()
        return download
    }

    /// A record in the place behind all others.
    func newRecord(_ request: DownloadRequest) -> DownloadRecord {
        let now = time.date()
        var record = DownloadRecord(DownloadID(at: now, using: &random), request, createdAt: now)
        record.owner = store.owner.number
        record.position = catalog.nextPosition()
        return record
    }

    /// Gives a download that was just stored its place in the queue; in memory are only those whose turn comes soon.
    func line(up record: DownloadRecord, _ request: DownloadRequest) {
        guard let id = DownloadID(record.id) else { return }
        if queue.waitingCount < Self.readTogether {
            let task = DownloadTask(
                id,
                DownloadMachine(settings(request, record), seed: random.next()),
                record,
                RateLimiter(request.bytesPerSecond, under: speed.limiter, now: time.now),
                hubs
            )
            task.hasNoDiskState = true
            tasks[id] = task
        }
        queue.enqueue(
            .init(id: id, host: record.host ?? "", priority: record.priority, position: record.position)
        )
    }

    // MARK: What is there already

    /// The download that is there, set going if it can be; nil when it is of no use for the request.
    private func join(_ saved: DownloadStore.Saved, _ request: DownloadRequest) async throws(DownloadError) -> Download?
    {
        guard let id = DownloadID(saved.record.id) else { return nil }
        switch request.onDuplicate {
        case .join: break
        case .addAnyway:
            if request.key == nil, case .folder = request.destination { return nil }
            throw Self.isPresent(request)
        case .refuse: throw Self.isPresent(request)
        }
        if let task = tasks[id] {
            if let download = try await again(task, request) { return download }
            // It has just ended: the store knows how.
            guard let saved = try await store.find(id: saved.record.id) else { return nil }
            return try await go(on: saved, request)
        }
        var record = saved.record
        if queue.waits(id), record.isBound(for: request.destination), !Self.merge(request, into: &record),
            record == saved.record
        {
            return handle(id, record, received: saved.progress?.received ?? 0)
        }
        return try await go(on: saved, request)
    }

    private static func isPresent(_ request: DownloadRequest) -> DownloadError {
        let name = request.key.map { "the key \"\($0)\"" } ?? request.url.masked
        return DownloadError(.alreadyAdded, "There is a download of \(name) already.")
    }

    /// The download that is in memory, set going if it can be; nil when it has ended.
    private func again(_ task: DownloadTask, _ request: DownloadRequest) async throws(DownloadError) -> Download? {
        if case .completed = task.machine.state {
            await settled(task)
            return nil
        }
        let isBound = task.record.isBound(for: request.destination)
        if !isBound {
            await settled(task)
            guard tasks[task.id] === task else { return nil }
            try await checkMove(task.record, to: request.destination)
            guard tasks[task.id] === task else { return nil }
            if case .completed = task.machine.state { return nil }
        }
        switch task.machine.state {
        case .queued, .paused, .failed:
            if !isBound { task.record.move(to: request.destination) }
            let isReplaced = Self.merge(request, into: &task.record)
            task.speedLimit.bytesPerSecond = task.record.wishes.bytesPerSecond
            if let merged = task.record.request {
                task.machine.retarget(settings(merged, task.record), isFromReplacedSource: isReplaced)
            }
            if isReplaced || !isBound, task.ownsRecord { try await store.commit(task.record, nil, durably: true) }
        case .cancelled:
            await settled(task)
            return nil
        default:
            guard isBound else {
                throw DownloadError(
                    .inUse,
                    "The key \"\(request.key ?? "")\" is being downloaded already, to \(task.record.finalPath ?? "another place")."
                )
            }
            guard request.key != nil || task.record.url == request.url.absoluteString else {
                throw DownloadError(
                    .inUse,
                    "\(task.record.finalPath ?? "This file") is being downloaded already, from another URL."
                )
            }
        }
        send(.resumeRequested, to: task)
        return Download(task.id, self, task.hub)
    }

    /// Takes up a download that is not in memory.
    private func go(on saved: DownloadStore.Saved, _ request: DownloadRequest) async throws(DownloadError) -> Download?
    {
        guard let task = try await takeUp(saved, request) else { return nil }
        try checkIsOpen()
        let download = Download(task.id, self, task.hub)
        guard task.machine.state == .queued else {
            announce(snapshot(of: task), outcome(of: task), task)
            noteRest(of: task.record.groupName)
            tellHooks(task, task.hub.snapshot)
            // A list of which everything is complete comes to its end too.
            wasBusy = true
            return download
        }
        tasks[task.id] = task
        task.hub.changed(snapshot(of: task))
        if task.ownsRecord {
            do throws(DownloadError) { try await store.commit(task.record, nil, durably: true) } catch {
                tasks[task.id] = nil
                throw error
            }
        }
        queue.enqueue(task.queueItem)
        startQueuedDownloads()
        return download
    }

    func nextSeed() -> UInt64 { random.next() }

    func settings(_ request: DownloadRequest) -> DownloadMachine.Settings {
        .init(
            url: request.url,
            target: request.target,
            mirrors: request.mirrors,
            retry: configuration.retry,
            checksum: request.checksum,
            size: request.size,
            pieces: request.pieces,
            isRepair: request.isRepair,
            resumesUnverified: request.resumesUnverified,
            failsOnChange: request.failsOnChange,
            waitsForSpace: configuration.waitsForSpace,
            limits: Transfer.Limits(
                connections: max(1, configuration.connectionsPerDownload),
                start: max(1, configuration.initialConnections),
                smallestPiece: max(1, configuration.smallestPiece)
            ),
            canAskForSource: configuration.sourceProvider != nil
        )
    }

    /// - Parameter isAbsolute: its path has been made absolute already.
    static func checked(_ request: DownloadRequest, isAbsolute: Bool = false) throws(DownloadError) -> DownloadRequest {
        guard let scheme = request.url.scheme?.lowercased() else {
            throw DownloadError(
                .invalidURL,
                "This is no URL: \(request.url.masked). It should begin with http:// or https://."
            )
        }
        guard scheme == "http" || scheme == "https" || request.needsSource else {
            throw DownloadError(.unsupportedScheme, "Haul downloads http and https URLs, not \(scheme).")
        }
        guard request.url.isAskable || request.needsSource else {
            throw DownloadError(
                .invalidURL,
                "This URL names no host, or a port that does not exist: \(request.url.masked)."
            )
        }
        if case .file(let path) = request.destination, FilePaths.isPart(path) {
            throw DownloadError(
                .invalidDestination,
                "A file cannot be called \(FilePaths.name(of: path)): the ending \(FilePaths.partSuffix) is that of files "
                    + "which are not complete, and another download may have one of this name. Choose another name."
            )
        }
        var request = request
        if isAbsolute { return request }
        let root = request.root
        switch request.destination {
        case .file(let path): request.destination = .file(path: absolute(path))
        case .folder(let path): request.destination = .folder(path: absolute(path))
        }
        // Another destination has no root yet.
        request.root = root.map(absolute)
        return request
    }

    static func absolute(_ path: String) -> String {
        FilePaths.isAbsoluteAndPlain(path) ? path : FilePaths.absolute(path)
    }
}
