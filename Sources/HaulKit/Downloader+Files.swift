internal import Foundation
internal import Logging

/// The steps that touch a download's files, each started by the machine and answered with one event.
extension Downloader {
    /// Looks at what an earlier run left: locks it and says how much of it may be relied on.
    func recover(_ entry: Entry) async {
        entry.record.startedAt = entry.record.startedAt ?? time.date()
        entry.lastSync = time.now()
        do throws(DownloadError) {
            if try await isTaken(entry) { return }
            guard let path = entry.record.partPath else {
                own(entry)
                send(.recovered(nil), to: entry)
                return
            }
            let publication = publication
            let record = entry.record
            let file = try await offActor { () throws(DownloadError) in
                try publication.reopenPart(path, expecting: record.part, owner: record.owner)
            }
            own(entry)
            guard let file else {
                // Gone, or another file by now: a new one will be made, under a name that is free then.
                entry.record.partPath = nil
                entry.record.part = nil
                if entry.record.file == nil { entry.record.finalPath = nil }
                send(.recovered(nil), to: entry)
                return
            }
            let claimed = entry.machine.mark
            let size = try await status(of: file).size
            // Shorter than it should be: somebody cut it, and nobody knows what else he did.
            let mark = size >= claimed.written && claimed.written > 0 ? claimed : nil
            hold(file, mark ?? .zero, entry)
            send(.recovered(mark), to: entry)
        } catch {
            send(.stepFailed(error), to: entry)
        }
    }

    /// From here on nobody else runs this download: what becomes of it is ours to record.
    private func own(_ entry: Entry) {
        entry.isOurs = true
        entry.record.owner = ProcessInfo.processInfo.processIdentifier
    }

    /// Whether the named file is there and decides the matter before anything is asked of the network.
    private func isTaken(_ entry: Entry) async throws(DownloadError) -> Bool {
        guard let path = entry.record.file, let policy = entry.record.request?.conflictPolicy,
            policy == .fail || policy == .skip
        else { return false }
        let disk = disk
        let standing = try await onDisk { () throws(DiskError) in try disk.status(path) }
        guard standing != nil else { return false }
        guard policy == .skip else { throw Publication.exists(path) }
        entry.wasThere = true
        entry.record.finalPath = path
        entry.record.finished = standing
        send(.skipped(path: path), to: entry)
        return true
    }

    private func hold(_ file: any DiskFile, _ mark: DownloadMachine.Mark, _ entry: Entry) {
        let id = entry.id
        entry.part = PartFile(file, mark: mark) { [weak self] in
            guard let self else { return }
            Task { await self.markNow(id) }
        }
    }

    private func markNow(_ id: DownloadID) {
        if let entry = entries[id] { mark(entry) }
    }

    /// Makes the file ready for a body: a name, a lock, room on the disk, and nothing in it that does not belong.
    func prepare(_ id: DownloadMachine.ConnectionID, _ preparation: DownloadMachine.Preparation, _ entry: Entry) async {
        do throws(DownloadError) {
            entry.record.resource = preparation.resource
            if entry.part == nil {
                guard try await createPart(preparation, entry) else { return }
                try await store.commit(entry.record, .zero)
            } else if preparation.startsOver {
                // The store forgets the old bytes before the file does, and surely: otherwise a power loss in between
                // could leave claims about bytes of another version.
                try await store.commit(entry.record, .zero, durably: true)
            }
            guard let part = entry.part else { return }
            if preparation.startsOver { try await startOver(part) }
            try await makeRoom(preparation.resource.total, part)
            if let checksum = entry.machine.settings.checksum ?? preparation.resource.digest {
                part.keepDigest(checksum.algorithm)
            }
            send(.prepared(id), to: entry)
        } catch {
            send(.stepFailed(error), to: entry)
        }
    }

    private func startOver(_ part: PartFile) async throws(DownloadError) {
        do throws(DiskError) { try await part.startOver() } catch { throw DownloadError(error) }
    }

    /// - Returns: false when something that is to be left alone stands there; the machine knows then.
    private func createPart(_ preparation: DownloadMachine.Preparation, _ entry: Entry) async throws(DownloadError)
        -> Bool
    {
        guard let request = entry.record.request else {
            throw DownloadError(.internalFault, "The stored request cannot be read.")
        }
        let path: String
        switch request.destination {
        case .file(let file): path = file
        case .folder(let folder):
            path = FilePaths.join(
                folder,
                FileName.choose(contentDisposition: preparation.contentDisposition, urls: preparation.nameSources)
            )
        }
        let disk = disk
        try await onDisk { () throws(DiskError) in try disk.createFolder(FilePaths.folder(of: path)) }
        let policy = request.conflictPolicy
        if policy == .skip, let standing = try await onDisk({ () throws(DiskError) in try disk.status(path) }) {
            entry.wasThere = true
            entry.record.finalPath = path
            entry.record.finished = standing
            send(.skipped(path: path), to: entry)
            return false
        }
        let file = try await takePart(path, policy, entry)
        entry.record.part = try await status(of: file)
        entry.needsFolderSync = true
        hold(file, .zero, entry)
        return true
    }

    /// Finds a free name and makes a partial file for it. The store knows the name, surely, before the file is there: a
    /// power loss in between leaves no file behind that nobody owns.
    private func takePart(_ path: String, _ policy: DownloadRequest.ConflictPolicy, _ entry: Entry)
        async throws(DownloadError)
        -> any DiskFile
    {
        let publication = publication
        for name in publication.names(for: path, policy: policy) {
            let part = FilePaths.part(of: name)
            let availability = try await offActor { () throws(DownloadError) in
                try publication.availability(of: name, policy: policy)
            }
            switch availability {
            case .taken: continue
            case .free:
                entry.record.partPath = part
                entry.record.finalPath = name
                try await store.commit(entry.record, nil, durably: true)
                if let file = try await offActor({ () throws(DownloadError) in try publication.createPart(part) }) {
                    return file
                }
            case .hasPart:
                let other = try await store.find(partPath: part)
                var occupant = Publication.Occupant.somebody
                if let other, Self.isSame(other, entry.record) { occupant = .thisDownload(owner: other.owner) }
                let standing = occupant
                let file = try await offActor { () throws(DownloadError) in
                    try publication.takeOver(part, from: standing, policy: policy)
                }
                guard let file else { continue }
                // Its bytes are ours now; nobody may go on claiming them.
                if let other, other.id != entry.record.id { try await store.remove(other.id) }
                entry.record.partPath = part
                entry.record.finalPath = name
                return file
            }
        }
        throw Publication.noFreeName(path)
    }

    /// Whether two records are of one download, begun by two processes.
    private static func isSame(_ one: DownloadRecord, _ other: DownloadRecord) -> Bool {
        one.id == other.id || (one.url == other.url && one.folder == other.folder && one.file == other.file)
            || (one.file != nil && one.file == other.file)
    }

    /// Checks that the rest will fit, and reserves it.
    private func makeRoom(_ total: Int64?, _ part: PartFile) async throws(DownloadError) {
        guard let total, total > 0 else { return }
        let disk = disk
        try await onDisk { () throws(DiskError) in
            let status = try part.file.status()
            let missing = total - max(status.allocated, status.size)
            guard missing > 0 else { return }
            if let free = try disk.freeSpace(FilePaths.folder(of: part.path)), free < missing {
                throw DiskError(.full, call: "statvfs", path: part.path)
            }
            try part.file.reserve(total)
        }
    }

    /// Syncs the file, puts it under its name, and makes the name durable.
    func publish(_ entry: Entry) async {
        do throws(DownloadError) {
            guard let part = entry.part, let path = entry.record.finalPath, let request = entry.record.request else {
                throw DownloadError(.internalFault, "The partial file is gone.")
            }
            let modified =
                request.setsModificationTime
                ? entry.machine.resource?.validator.lastModified.flatMap(HTTPDate.parse) : nil
            entry.record.part = try await onDisk { () throws(DiskError) in
                let size = try part.file.status().size
                // More than belongs to the file can only be left from a reservation or an earlier, longer version.
                if size > part.mark.written { try part.file.truncate(part.mark.written) }
                if let modified { try part.file.setModificationTime(secondsSince1970: modified.timeIntervalSince1970) }
                return try part.file.status()
            }
            do throws(DiskError) {
                _ = try await part.sync()
            } catch { throw DownloadError(error) }
            let mark = part.mark
            guard mark.synced == mark.written else {
                throw DownloadError(
                    .diskFailed,
                    "The file could not be brought to the disk. What surely arrived is kept."
                )
            }
            let published = try await takeName(path, request.conflictPolicy, part, mark, entry)
            entry.record.partPath = nil
            entry.record.finished = try await status(of: part.file)
            send(.published(path: published), to: entry)
        } catch {
            send(.stepFailed(error), to: entry)
        }
    }

    /// Records each name durably before it is tried: a crash right after the renaming can then be understood.
    private func takeName(
        _ path: String,
        _ policy: DownloadRequest.ConflictPolicy,
        _ part: PartFile,
        _ mark: DownloadMachine.Mark,
        _ entry: Entry
    ) async throws(DownloadError) -> String {
        let publication = publication
        for name in publication.names(for: path, policy: policy) {
            entry.record.status = .publishing
            entry.record.finalPath = name
            try await store.commit(entry.record, mark, durably: true)
            let isPublished = try await offActor { () throws(DownloadError) in
                try publication.publish(part.path, as: name, policy: policy)
            }
            if isPublished { return name }
        }
        throw Publication.noFreeName(path)
    }

    func setAside(_ entry: Entry) async {
        guard let path = entry.record.partPath else { return }
        let publication = publication
        do throws(DownloadError) {
            let target = try await offActor { () throws(DownloadError) in try publication.setAside(path) }
            logger.debug("set aside as \(target)")
        } catch { logger.debug("\(error)") }
        entry.record.partPath = nil
        entry.record.part = nil
        if entry.record.file == nil { entry.record.finalPath = nil }
        do {
            try await store.commit(entry.record, .zero)
        } catch { logger.debug("store: \(error)") }
    }

    func discardPartial(_ entry: Entry) async {
        await entry.part?.drain()
        if let path = entry.record.partPath {
            let disk = disk
            do throws(DownloadError) {
                // Not ours to delete if another process has it, or if it is another file by now.
                if entry.part == nil {
                    let publication = publication
                    let record = entry.record
                    let file = try await offActor { () throws(DownloadError) in
                        try publication.reopenPart(path, expecting: record.part, owner: record.owner)
                    }
                    if file != nil { try await onDisk { () throws(DiskError) in try disk.remove(path) } }
                } else {
                    try await onDisk { () throws(DiskError) in try disk.remove(path) }
                }
            } catch {
                logger.debug("\(error)")
                // Another process is at it: the download is its own now.
                if error.code == .inUse { return }
            }
        }
        do {
            try await store.remove(entry.record.id)
        } catch { logger.debug("store: \(error)") }
    }

    func releaseFile(_ entry: Entry) async {
        await entry.part?.drain()
        // A failure that left nothing to go on with leaves no litter either; removed while the lock is still held.
        if let part = entry.part, case .failed = entry.machine.state, part.mark.written == 0 {
            let disk = disk
            do throws(DownloadError) {
                try await onDisk { () throws(DiskError) in try disk.remove(part.path) }
                entry.record.partPath = nil
                entry.record.part = nil
                if entry.record.file == nil { entry.record.finalPath = nil }
                store.note(entry.record)
            } catch { logger.debug("\(error)") }
        }
        // A sync or a digest may still hold the file for a while; the lock must not wait for that.
        entry.part?.file.unlock()
        entry.part = nil
        guard entry.isOurs, entry.record.owner != nil else { return }
        entry.record.owner = nil
        if entry.machine.state != .cancelled { store.note(entry.record) }
    }

    private func status(of file: any DiskFile) async throws(DownloadError) -> FileStatus {
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
