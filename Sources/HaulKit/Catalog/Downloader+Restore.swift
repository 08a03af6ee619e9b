internal import Foundation

/// Taking up what earlier runs left in the store.
extension Downloader {
    /// Takes up everything: files that were about to get their names get them, what ran waits for a slot.
    func restoreAll() async throws(DownloadError) {
        for var saved in try await store.unfinishedPublications() {
            do throws(DownloadError) {
                try await finishPublishing(&saved)
            } catch {
                // One folder that cannot be looked at must not keep the others from being opened.
                saved.record.status = .failed
                saved.record.error = error
            }
            if saved.record.status == .publishing { saved.record.status = .queued }
            try await store.commit(saved.record, nil)
        }
        // What they waited for is checked again.
        try await store.endAllHolds()
        if !configuration.resumesAtStart { try await store.pauseAllQueued() }
        for item in try await store.queueItems(.all) { queue.enqueue(item) }
    }

    func task(
        _ saved: DownloadStore.Saved,
        _ id: DownloadID,
        _ request: DownloadRequest,
        isFromReplacedSource: Bool = false
    ) -> DownloadTask {
        let persisted = saved.progress?.persisted(bootID: disk.bootID) ?? .zero
        let state: DownloadMachine.State =
            switch saved.record.status {
            case .queued, .publishing: .queued
            case .paused: .paused
            case .failed: saved.record.error.map { .failed($0) } ?? .queued
            case .completed: saved.record.finalPath.map { .completed(path: $0) } ?? .queued
            }
        var machine = DownloadMachine(
            settings(request, saved.record),
            state: state,
            resource: saved.record.resource,
            persisted: persisted,
            seed: nextSeed(),
            isFromReplacedSource: isFromReplacedSource
        )
        if state == .paused { machine.hold = saved.record.hold }
        let limit = RateLimiter(request.bytesPerSecond, under: speed.limiter, now: time.now)
        let task = DownloadTask(id, machine, saved.record, limit, hubs)
        // Who has the whole store to himself need not ask whose a record is.
        let isAddedHere = saved.record.owner == store.owner.number && saved.record.partPath == nil
        task.ownsRecord = configuration.restoration == .everything || state != .queued || isAddedHere
        task.hasNoDiskState = isAddedHere && state == .queued && saved.record.startedAt == nil
        task.alreadyExisted = saved.record.status == .completed
        return task
    }

    /// The entry with which a request goes on, in a state to run or complete already; nil when the stored download is of
    /// no use for it.
    func takeUp(_ saved: DownloadStore.Saved, _ request: DownloadRequest) async throws(DownloadError) -> DownloadTask? {
        guard let id = DownloadID(saved.record.id) else { return nil }
        var saved = saved
        // Another process has just begun it and has no file to lock yet: ours is another download until that is settled.
        if saved.record.partPath == nil, let owner = saved.record.owner, owner != store.owner.number,
            store.owner.isAlive(owner)
        {
            // A key stands for one download.
            if request.key != nil { throw FilePlacement.inUse(request.url.masked, owner: saved.record.ownerProcess) }
            return nil
        }
        if saved.record.status == .publishing { try await finishPublishing(&saved) }
        if saved.record.status == .completed {
            let isSame = saved.record.url == request.url.absoluteString || request.needsSource
            let isThere = saved.record.isBound(for: request.destination)
            if isSame, isThere, await isUnchanged(saved.record), try await hasDigest(request.checksum, saved.record) {
                prove(&saved.record, by: request.checksum)
                return task(saved, id, request)
            }
            guard isSame || request.key != nil else { return nil }
            space.invalidateUsage()
            // The file is gone or has become another one: it is fetched anew, and whatever stands in its place is left alone.
            saved.record.forgetPart()
            saved.record.finished = nil
            saved.record.finishedAt = nil
            saved.record.resource = nil
            saved.record.proof = nil
            saved.progress = nil
        }
        if !saved.record.isBound(for: request.destination) {
            try await checkMove(saved.record, to: request.destination)
            saved.record.move(to: request.destination)
        }
        let isReplaced = Self.merge(request, into: &saved.record)
        saved.record.status = .queued
        saved.record.error = nil
        saved.record.hold = nil
        guard let merged = saved.record.request else { return nil }
        return task(saved, id, merged, isFromReplacedSource: isReplaced)
    }

    /// Lets a new request for a download that is there change what it says: a request that says nothing of headers or
    /// checksum does not take back what was said before.
    ///
    /// - Returns: whether the bytes now come from another URL.
    static func merge(_ request: DownloadRequest, into record: inout DownloadRecord) -> Bool {
        // Who names only the key has nothing to say of the URL.
        let isReplaced = record.url != request.url.absoluteString && !request.needsSource
        var wishes = DownloadRecord.Wishes(request)
        if request.needsSource {
            (wishes.target, wishes.isChosenByDocument) = (record.wishes.target, record.wishes.isChosenByDocument)
        }
        if wishes.headers.isEmpty, !isReplaced { wishes.headers = record.wishes.headers }
        wishes.checksum = wishes.checksum ?? record.wishes.checksum
        // A plainer request does not take a check back.
        wishes.pieces = wishes.pieces ?? record.wishes.pieces
        wishes.size = wishes.size ?? record.wishes.size
        wishes.mirrors = wishes.mirrors ?? (isReplaced ? nil : record.wishes.mirrors)
        wishes.isRepair = record.wishes.isRepair
        if isReplaced {
            record.linkExpiresAt = LinkExpiry.date(in: request.url)
        } else {
            wishes.link = record.wishes.link
            wishes.linkHeaders = record.wishes.linkHeaders
        }
        record.wishes = wishes
        if isReplaced { record.host = request.url.host?.lowercased() }
        if isReplaced, record.resource?.mirror == nil {
            // What is known of the file is known from the other one.
            record.resource?.mirror = URL(string: record.url)
        }
        if isReplaced { record.url = request.url.absoluteString }
        record.groupName = request.group ?? record.groupName
        record.belongsTo = request.owner ?? record.belongsTo
        record.metadata = request.metadata?.json ?? record.metadata
        return isReplaced
    }

    /// A crash between the renaming and the record of it leaves the finished file under its name: it is known by its inode.
    /// Where the file system renames in two steps, both names may be left.
    func finishPublishing(_ saved: inout DownloadStore.Saved) async throws(DownloadError) {
        guard let part = saved.record.partPath, let path = saved.record.finalPath, let identity = saved.record.part
        else {
            return
        }
        let disk = disk
        let finished = try await onDisk { () throws(DiskError) -> FileStatus? in
            guard let existingFile = try disk.status(path), existingFile.isSameFile(as: identity),
                existingFile.size == identity.size
            else { return nil }
            if try disk.status(part)?.isSameFile(as: identity) == true { try disk.remove(part) }
            try disk.syncFolder(FilePaths.folder(of: path))
            return existingFile
        }
        guard let finished else { return }
        saved.record.status = .completed
        saved.record.partPath = nil
        saved.record.finished = finished
        saved.record.finishedAt = time.date()
    }

    /// Whether the finished file stands where it was put, as it was then.
    func isUnchanged(_ record: DownloadRecord) async -> Bool {
        do throws(DownloadError) {
            return try await fileState(record) == .unchanged
        } catch {
            // What cannot be looked at cannot be vouched for.
            return false
        }
    }

    /// Records a digest that a finished file was just found to have, so that it need not be read again.
    private func prove(_ record: inout DownloadRecord, by checksum: Checksum?) {
        guard let checksum, checksum != record.wishes.checksum || record.proof != .digest else { return }
        record.wishes.checksum = checksum
        record.proof = .digest
        store.note(record)
    }

    /// Whether a finished file has the digest that is asked for now; read back only where its own run did not check it.
    func hasDigest(_ checksum: Checksum?, _ record: DownloadRecord) async throws(DownloadError) -> Bool {
        guard let checksum, checksum != record.wishes.checksum, let path = record.finalPath else { return true }
        return try await digest(checksum.algorithm, of: path) == checksum
    }

    /// The digest of a file; a shut-down does not wait for it.
    func digest(_ algorithm: Checksum.Algorithm, of path: String) async throws(DownloadError) -> Checksum {
        do throws(DownloadError) {
            return try await Checksum.of(algorithm, file: path, until: isStopping)
        } catch { throw isStopping.isSet ? Self.isShutDown : error }
    }
}
