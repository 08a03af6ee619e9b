internal import Foundation

/// Looking at what earlier runs and other processes left on the disk, before anything is asked of the network.
extension Downloader {
    /// Locks the partial file of an earlier run and says how much of it may be relied on.
    func recover(_ task: DownloadTask) async {
        task.record.startedAt = task.record.startedAt ?? time.date()
        task.lastSync = time.now()
        do throws(DownloadError) {
            if try await isPublished(task) { return }
            if try await isTaken(task) { return }
            let file = try await reopen(task)
            let stored = try await store.find(id: task.record.id)
            if let record = stored?.record, record.status == .completed, let path = record.finalPath,
                await isUnchanged(record), try await hasDigest(task.record.wishes.checksum, record)
            {
                // Another process completed it while we waited.
                task.record = record
                task.alreadyExisted = true
                send(.skipped(path: path), to: task)
                return
            }
            guard let file else {
                // None, or gone, or another file by now: one will be made, under a name that is free then.
                task.record.forgetPart()
                send(try await space.refusal(task.total, here: 0, task) ?? .recovered(nil), to: task)
                return
            }
            // The store knows best: another process may have gone on, or begun anew, since we last looked.
            let claimed = stored?.progress?.persisted(bootID: disk.bootID) ?? .zero
            task.machine.learn(stored?.record.resource)
            let status = try await status(of: file)
            // Shorter than it should be: somebody cut it, and nobody knows what else he did.
            let persisted =
                claimed.count > 0 && status.size >= claimed.written.ranges.last?.upperBound ?? 0 ? claimed : nil
            hold(file, persisted ?? .zero, task)
            let isWhole = persisted.map { $0.prefix == stored?.record.resource?.total } ?? false
            let here = max(persisted?.count ?? 0, status.allocated)
            send(
                isWhole
                    ? .recovered(persisted)
                    : try await space.refusal(task.total, here: here, task) ?? .recovered(persisted),
                to: task
            )
        } catch {
            send(.stepFailed(error), to: task)
        }
    }

    /// The partial file, locked, with the download's record ours from then on; nil when there is none. Throws `inUse` when
    /// another process has it.
    private func reopen(_ task: DownloadTask) async throws(DownloadError) -> (any DiskFile)? {
        let file = try await partFile(task)
        // Without a file to lock, another process may run it under another name. An exclusive store has no other user.
        if file == nil, configuration.restoration == .onRequest {
            guard try await store.claim(task.record.id) else {
                throw FilePlacement.inUse(task.machine.settings.url.masked, owner: nil)
            }
        }
        own(task)
        return file
    }

    private func partFile(_ task: DownloadTask) async throws(DownloadError) -> (any DiskFile)? {
        guard let path = task.record.partPath else { return nil }
        let placement = placement
        let record = task.record
        try await checkFolder(of: path, record)
        return try await runBlocking { () throws(DownloadError) in
            try placement.reopenPart(path, expecting: record.part, owner: record.ownerProcess)
        }
    }

    /// From here on nobody else runs this download: what becomes of it is ours to record.
    private func own(_ task: DownloadTask) {
        task.ownsRecord = true
        task.record.owner = store.owner.number
    }

    /// Whether the file stands under its name already: it was renamed, and what followed failed.
    private func isPublished(_ task: DownloadTask) async throws(DownloadError) -> Bool {
        guard task.record.partPath != nil, task.record.status != .completed, let size = task.record.part?.size,
            size > 0, var stored = try await store.find(id: task.record.id)
        else { return false }
        // Its size is recorded, and all of it synced, once everything has been checked and the name is about to be given.
        guard stored.record.part == task.record.part,
            stored.progress?.persisted(bootID: disk.bootID).synced.containsAll(of: 0..<size) == true
        else { return false }
        try await finishPublishing(&stored)
        guard stored.record.status == .completed, let path = stored.record.finalPath else { return false }
        own(task)
        task.record = stored.record
        task.record.owner = store.owner.number
        task.existingFile = stored.record.finished
        if task.record.wishes.checksum != nil { task.proof = .digest }
        send(.skipped(path: path), to: task)
        return true
    }

    /// Whether the named file is there and decides the matter.
    private func isTaken(_ task: DownloadTask) async throws(DownloadError) -> Bool {
        guard let path = task.record.file, let policy = task.record.request?.conflictPolicy,
            policy == .fail || policy == .skip
        else { return false }
        let disk = disk
        let existingFile = try await onDisk { () throws(DiskError) in try disk.status(path) }
        guard let existingFile else { return false }
        guard policy == .skip else { throw FilePlacement.exists(path) }
        try await skip(path, existingFile, task)
        return true
    }

    /// Ends the download with the file that is there, which must have the digest if one was asked for.
    func skip(_ path: String, _ existingFile: FileStatus, _ task: DownloadTask) async throws(DownloadError) {
        if let checksum = task.record.wishes.checksum {
            let actual = try await digest(checksum.algorithm, of: path)
            guard actual == checksum else {
                throw DownloadError(
                    .checksumMismatch,
                    "\(path) exists and was left alone, but has the digest \(actual), not \(checksum)."
                )
            }
            task.proof = .digest
        }
        task.alreadyExisted = true
        task.existingFile = existingFile
        send(.skipped(path: path), to: task)
    }

    func hold(_ file: any DiskFile, _ persisted: PersistedRanges, _ task: DownloadTask) {
        let id = task.id
        let isInMemory = file.isInMemory
        task.notedMark = nil
        task.part = PartFile(file, persisted: persisted, executor: executor) { [weak self] in
            guard let self, !isInMemory else { return }
            Task { await self.markNow(id) }
        }
    }

    private func markNow(_ id: DownloadID) {
        if let task = tasks[id] { recordProgress(task) }
    }

    func status(of file: any DiskFile) async throws(DownloadError) -> FileStatus {
        try await onDisk { () throws(DiskError) in try file.status() }
    }

    func onDisk<Value: Sendable>(_ call: @escaping @Sendable () throws(DiskError) -> Value) async throws(DownloadError)
        -> Value
    {
        do {
            return try await runBlocking(call)
        } catch { throw DownloadError(error) }
    }
}
