internal import Foundation

/// Looking at what earlier runs and other processes left on the disk, before anything is asked of the network.
extension Downloader {
    /// Locks the partial file of an earlier run and says how much of it may be relied on.
    func recover(_ entry: Entry) async {
        entry.record.startedAt = entry.record.startedAt ?? time.date()
        entry.lastSync = time.now()
        do throws(DownloadError) {
            if try await isPublished(entry) { return }
            if try await isTaken(entry) { return }
            let file = try await reopen(entry)
            let stored = try await store.find(id: entry.record.id)
            if let record = stored?.record, record.status == .completed, let path = record.finalPath,
                await isUnchanged(record)
            {
                // Another process completed it while we waited.
                entry.record = record
                entry.wasThere = true
                send(.skipped(path: path), to: entry)
                return
            }
            guard let file else {
                // None, or gone, or another file by now: one will be made, under a name that is free then.
                entry.record.forgetPart()
                send(try await lacksRoom(entry, here: 0) ?? .recovered(nil), to: entry)
                return
            }
            // The store knows best: another process may have gone on, or begun anew, since we last looked.
            let claimed = stored?.progress?.mark(bootID: disk.bootID) ?? .zero
            entry.machine.learn(stored?.record.resource)
            let status = try await status(of: file)
            // Shorter than it should be: somebody cut it, and nobody knows what else he did.
            let mark = claimed.count > 0 && status.size >= claimed.written.ranges.last?.upperBound ?? 0 ? claimed : nil
            hold(file, mark ?? .zero, entry)
            let isWhole = mark.map { $0.prefix == stored?.record.resource?.total } ?? false
            let here = max(mark?.count ?? 0, status.allocated)
            send(isWhole ? .recovered(mark) : try await lacksRoom(entry, here: here) ?? .recovered(mark), to: entry)
        } catch {
            send(.stepFailed(error), to: entry)
        }
    }

    /// The partial file, locked, with the download's record ours from then on; nil when there is none. Throws `inUse` when
    /// another process has it.
    private func reopen(_ entry: Entry) async throws(DownloadError) -> (any DiskFile)? {
        let file = try await partFile(entry)
        // Without a file to lock, another process may run it under another name. An exclusive store has no other user.
        if file == nil, configuration.restoration == .onRequest {
            guard try await store.claim(entry.record.id) else {
                throw Publication.inUse(entry.machine.settings.url.masked, owner: nil)
            }
        }
        own(entry)
        return file
    }

    private func partFile(_ entry: Entry) async throws(DownloadError) -> (any DiskFile)? {
        guard let path = entry.record.partPath else { return nil }
        let publication = publication
        let record = entry.record
        try await checkFolder(of: path, record)
        return try await offActor { () throws(DownloadError) in
            try publication.reopenPart(path, expecting: record.part, owner: record.ownerProcess)
        }
    }

    /// From here on nobody else runs this download: what becomes of it is ours to record.
    private func own(_ entry: Entry) {
        entry.isOurs = true
        entry.record.owner = store.owner.number
    }

    /// Whether the file stands under its name already: it was renamed, and what followed failed.
    private func isPublished(_ entry: Entry) async throws(DownloadError) -> Bool {
        guard entry.record.partPath != nil, entry.record.status != .completed, let size = entry.record.part?.size,
            size > 0, var stored = try await store.find(id: entry.record.id)
        else { return false }
        // Its size is recorded, and all of it synced, once everything has been checked and the name is about to be given.
        guard stored.record.part == entry.record.part,
            stored.progress?.mark(bootID: disk.bootID).synced.containsAll(of: 0..<size) == true
        else { return false }
        try await finishPublishing(&stored)
        guard stored.record.status == .completed, let path = stored.record.finalPath else { return false }
        own(entry)
        entry.record = stored.record
        entry.record.owner = store.owner.number
        entry.standing = stored.record.finished
        if entry.record.wishes.checksum != nil { entry.proof = .digest }
        send(.skipped(path: path), to: entry)
        return true
    }

    /// Whether the named file is there and decides the matter.
    private func isTaken(_ entry: Entry) async throws(DownloadError) -> Bool {
        guard let path = entry.record.file, let policy = entry.record.request?.conflictPolicy,
            policy == .fail || policy == .skip
        else { return false }
        let disk = disk
        let standing = try await onDisk { () throws(DiskError) in try disk.status(path) }
        guard let standing else { return false }
        guard policy == .skip else { throw Publication.exists(path) }
        try await skip(path, standing, entry)
        return true
    }

    /// Ends the download with the file that is there, which must have the digest if one was asked for.
    func skip(_ path: String, _ standing: FileStatus, _ entry: Entry) async throws(DownloadError) {
        if let checksum = entry.record.wishes.checksum {
            let actual = try await digest(checksum.algorithm, of: path)
            guard actual == checksum else {
                throw DownloadError(
                    .checksumMismatch,
                    "\(path) exists and was left alone, but has the digest \(actual), not \(checksum)."
                )
            }
            entry.proof = .digest
        }
        entry.wasThere = true
        entry.standing = standing
        send(.skipped(path: path), to: entry)
    }

    func hold(_ file: any DiskFile, _ mark: Mark, _ entry: Entry) {
        let id = entry.id
        let isInMemory = file.isInMemory
        entry.notedMark = nil
        entry.part = PartFile(file, mark: mark, executor: executor) { [weak self] in
            guard let self, !isInMemory else { return }
            Task { await self.markNow(id) }
        }
    }

    private func markNow(_ id: DownloadID) {
        if let entry = entries[id] { mark(entry) }
    }

    func status(of file: any DiskFile) async throws(DownloadError) -> FileStatus {
        try await onDisk { () throws(DiskError) in try file.status() }
    }

    func onDisk<Value: Sendable>(_ call: @escaping @Sendable () throws(DiskError) -> Value) async throws(DownloadError)
        -> Value
    {
        do {
            return try await offActor(call)
        } catch { throw DownloadError(error) }
    }
}
