internal import Foundation

/// Adding a download, or finding the one that is there.
extension Downloader {
    /// Adds a download, or goes on with the one that is there: the same named file, or the same URL into the same folder.
    ///
    /// A download that was paused or had failed is resumed, with the new request's headers and checksum if it has any. A
    /// finished one whose file stands unchanged is returned as it is; otherwise it is fetched anew.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` or ``DownloadError/Code/unsupportedScheme``,
    ///   ``DownloadError/Code/inUse`` when the named file is being downloaded from another URL,
    ///   ``DownloadError/Code/storeFailed``, ``DownloadError/Code/shutDown``. Everything later is an event of the download.
    public func add(_ request: DownloadRequest) async throws(DownloadError) -> Download {
        guard !isShuttingDown else { throw Self.isShutDown }
        let request = try Self.checked(request)
        let target = Target(request)
        if let download = try await again(request, target) { return download }
        let saved = try await store.find(request)
        // Another call may have been here while the store was asked.
        if let download = try await again(request, target) { return download }
        return try await add(request, target, saved)
    }

    /// Adds a download, given what the store has of it.
    func add(_ request: DownloadRequest, _ target: Target, _ saved: DownloadStore.Saved?) async throws(DownloadError)
        -> Download
    {
        var taken: Entry?
        if let saved { taken = try await takeUp(saved, request) }
        // And once more: taking up looks at the disk.
        if let download = try await again(request, target) { return download }
        guard !isShuttingDown else { throw Self.isShutDown }

        let entry = taken ?? newEntry(request)
        entry.isOurs = taken == nil || entry.machine.state != .queued
        insert(entry, target)
        if entry.isOurs {
            do {
                try await store.commit(entry.record, nil, durably: true)
            } catch {
                drop(entry)
                throw error
            }
        }
        enqueue(entry)
        return Download(entry.id, self, entry.hub)
    }

    func newEntry(_ request: DownloadRequest) -> Entry {
        let id = DownloadID()
        var record = DownloadRecord(id, request, createdAt: time.date())
        record.owner = processID
        let entry = Entry(
            id,
            DownloadMachine(settings(request), seed: random.next()),
            record,
            SpeedLimit(request.bytesPerSecond, under: speedLimit, now: time.now)
        )
        entry.isUntouched = true
        return entry
    }

    static let isShutDown = DownloadError(.shutDown, "The downloader has been shut down.")

    /// The download of this target that is in memory already, set going if it can be.
    func again(_ request: DownloadRequest, _ target: Target) async throws(DownloadError) -> Download? {
        guard let id = byTarget[target], let entry = entries[id] else { return nil }
        if case .completed = entry.machine.state {
            guard entry.machine.settings.url == request.url, await isUnchanged(entry.record),
                try await hasDigest(request.checksum, entry.record)
            else {
                drop(entry)
                return nil
            }
        }
        switch entry.machine.state {
        case .queued, .paused, .failed:
            let isReplaced = Self.merge(request, into: &entry.record)
            entry.speedLimit.bytesPerSecond = entry.record.wishes.bytesPerSecond
            if let merged = entry.record.request {
                entry.machine.retarget(settings(merged), isFromReplacedSource: isReplaced)
            }
        default:
            guard entry.machine.settings.url == request.url else {
                throw DownloadError(
                    .inUse,
                    "\(entry.record.finalPath ?? "This file") is being downloaded already, from another URL."
                )
            }
        }
        send(.resumeRequested, to: entry)
        return Download(id, self, entry.hub)
    }

    func insert(_ entry: Entry, _ target: Target) {
        entries[entry.id] = entry
        entry.place = places
        places += 1
        byTarget[target] = entry.id
        entry.target = target
    }

    func drop(_ entry: Entry) {
        entries[entry.id] = nil
        if let target = entry.target, byTarget[target] == entry.id { byTarget[target] = nil }
    }

    func enqueue(_ entry: Entry) {
        guard entry.machine.state == .queued else {
            entry.hub.changed(entry.snapshot(at: time.now()), outcome: outcome(of: entry))
            return
        }
        queue.enqueue(entry.id)
        askQueue()
    }

    func nextSeed() -> UInt64 { random.next() }

    func settings(_ request: DownloadRequest) -> DownloadMachine.Settings {
        .init(
            url: request.url,
            mirrors: request.mirrors,
            retry: configuration.retry,
            checksum: request.checksum,
            size: request.size,
            pieces: request.pieces,
            isRepair: request.isRepair,
            resumesUnverified: request.resumesUnverified,
            failsOnChange: request.failsOnChange,
            limits: Transfer.Limits(
                connections: max(1, configuration.connectionsPerDownload),
                start: max(1, configuration.initialConnections),
                smallestPiece: max(1, configuration.smallestPiece)
            )
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
        guard scheme == "http" || scheme == "https" else {
            throw DownloadError(.unsupportedScheme, "Haul downloads http and https URLs, not \(scheme).")
        }
        guard request.url.isAskable else {
            throw DownloadError(
                .invalidURL,
                "This URL names no host, or a port that does not exist: \(request.url.masked)."
            )
        }
        var request = request
        if isAbsolute { return request }
        switch request.destination {
        case .file(let path): request.destination = .file(path: absolute(path))
        case .folder(let path): request.destination = .folder(path: absolute(path))
        }
        return request
    }

    static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }
}
