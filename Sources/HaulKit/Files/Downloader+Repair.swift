public import Foundation

/// What became of a file that was to be repaired.
public enum Repair: Sendable {
    /// Every piece is right. The file was only read.
    case nothingToDo(bytes: Int64)
    /// The download that fetches what is wrong, with the rest of the file in place.
    case fetching(Download, wrongBytes: Int64)
}

/// Files that are on the disk already, and not as they should be.
extension Downloader {
    /// Compares a file with the digests of its pieces, and fetches only what is wrong.
    ///
    /// While that is going on the file is called `NAME.haulpart`, as any unfinished one; under its own name it appears again
    /// when all of it is right. A repair that was interrupted is gone on with by the same call, or by ``add(_:)``.
    ///
    /// - Parameters:
    ///   - path: the file. Where there is none, all of it is fetched.
    ///   - request: says what the pieces must be, and where to get them. Its destination does not count. Nil: as the file
    ///     was downloaded, if the store has digests of its pieces.
    ///   - url: to be asked first, in place of the request's URL.
    ///   - headers: sent instead of those of the request.
    ///   - progress: told from time to time how many bytes have been compared, of how many.
    /// - Throws: ``DownloadError``; with the code ``DownloadError/Code/invalidMetalink`` when there are no digests of pieces to
    ///   go by.
    public func repair(
        _ path: String,
        from request: DownloadRequest? = nil,
        url: URL? = nil,
        headers: [HeaderField]? = nil,
        progress: @escaping @Sendable (_ done: Int64, _ of: Int64) -> Void = { _, _ in }
    ) async throws(DownloadError) -> Repair {
        try checkIsOpen()
        let path = Self.absolute(path)
        let given = request
        var request: DownloadRequest
        if let given { request = given } else { request = try await earlierRequest(for: path) }
        request.destination = .file(path: path)
        if let url {
            // What was meant for one origin is not for another to hear.
            if Origin(url) != Origin(request.url) { request.headers = [] }
            request.url = url
        }
        if let headers { request.headers = headers }
        try await leave(request)
        guard let pieces = request.pieces, let size = request.size, pieces.covers(size) else {
            throw DownloadError(
                .invalidMetalink,
                "There are no digests of pieces to compare \(path) with: name a Metalink that has them."
            )
        }
        let disk = disk
        guard try await onDisk({ () throws(DiskError) in try disk.status(path) }) != nil else {
            return .fetching(try await add(request), wrongBytes: size)
        }
        let publication = publication
        let file = try await runBlocking { () throws(DownloadError) in try publication.lock(path) }
        let isStopping = isStopping
        let found = try await onDisk { () throws(DiskError) in
            try PieceDigests(pieces, total: size).right(in: file, until: isStopping, progress: progress)
        }
        try checkIsOpen()
        guard let right = found else { throw Self.isShutDown }
        if right.count == size, try await status(of: file).size == size { return .nothingToDo(bytes: size) }
        let length = try await status(of: file).size
        guard right.count > 0 || length == 0 else {
            throw DownloadError(
                .checksumMismatch,
                "Not one piece of \(path) is right: it is another file, or the digests are another's. It was left as it is."
            )
        }
        request.isRepair = true
        try await takeApart(file, right, request)
        return .fetching(try await add(request), wrongBytes: size - right.count)
    }

    /// What the store knows of the newest download that ended in this file.
    private func earlierRequest(for path: String) async throws(DownloadError) -> DownloadRequest {
        guard let request = try await store.find(finalPath: path)?.request else {
            throw DownloadError(
                .invalidMetalink,
                "Haul did not download \(path), or does not remember it: name a Metalink that describes the file."
            )
        }
        return request
    }

    /// Makes the file a partial one of which only the right pieces are there.
    private func takeApart(_ file: any DiskFile, _ right: ByteSet, _ request: DownloadRequest)
        async throws(DownloadError)
    {
        let part = FilePaths.part(of: file.path)
        try await onDisk { () throws(DiskError) in try file.sync() }
        let now = time.date()
        let known = try await keyed(request)
        let id = known ?? DownloadID(at: now, using: &random)
        var record = DownloadRecord(id, try Self.checked(request), createdAt: now)
        record.part = try await status(of: file)
        record.partPath = part
        record.finalPath = file.path
        record.resource = Resource(total: request.size)
        // Recorded before it is renamed: a crash in between leaves the file as it was, under its own name.
        try await store.commit(record, PersistedRanges(written: right, synced: right), durably: true)
        let (disk, publication) = (disk, publication)
        do {
            try await onDisk { () throws(DiskError) in
                try publication.move(file, from: file.path, to: part, replacing: false)
                do throws(DiskError) { try disk.syncFolder(FilePaths.folder(of: part)) } catch {
                    try publication.move(file, from: part, to: file.path, replacing: false)
                    throw error
                }
            }
        } catch {
            try await store.remove(record.id)
            throw error
        }
        file.unlock()
        if known == nil { announceAddition(of: record, received: right.count) }
    }

    /// The download that has this key already: a key stands for one, and the repair is of its file.
    private func keyed(_ request: DownloadRequest) async throws(DownloadError) -> DownloadID? {
        guard request.key != nil, let saved = try await store.find(request) else { return nil }
        return DownloadID(saved.record.id)
    }

    /// A download of this name that is under way must not have the file taken from under it.
    private func leave(_ request: DownloadRequest) async throws(DownloadError) {
        guard let saved = try await store.find(request), let id = DownloadID(saved.record.id), let task = tasks[id],
            !task.isAtRest
        else { return }
        throw FilePlacement.inUse(task.record.file ?? request.url.masked, owner: nil)
    }
}
