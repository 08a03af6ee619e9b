public import Foundation

/// The result of comparing a file with the digests of its pieces.
public enum Repair: Sendable {
    /// Every piece is correct. The file, of this many bytes, was only read.
    case nothingToDo(bytes: Int64)
    /// A download fetches the wrong or missing bytes, of this number; the rest of the file is kept.
    case fetching(Download, wrongBytes: Int64)
}

/// Repairing files that are on disk and damaged or incomplete.
extension Downloader {
    /// Compares a file with the digests of its pieces, and fetches only the wrong pieces.
    ///
    /// During the repair the file is called `NAME.haulpart`, like every unfinished file; it gets its own name back when
    /// all of it is correct. The same call, or ``add(_:)-(DownloadRequest)``, continues an interrupted repair.
    ///
    /// - Parameters:
    ///   - path: the file. If it does not exist, all of it is fetched.
    ///   - request: has the digests of the pieces and the sources; its destination is ignored. `nil`: the request by
    ///     which the file was downloaded, if the store has digests of its pieces.
    ///   - url: the first source, in place of the request's URL.
    ///   - headers: header fields in place of those of the request.
    ///   - progress: called repeatedly, on a background thread, with the number of bytes compared and of all bytes.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidMetalink`` without digests of pieces,
    ///   ``DownloadError/Code/checksumMismatch`` when no piece of the file is correct, ``DownloadError/Code/inUse``
    ///   when a download or another process has the file, ``DownloadError/Code/shutDown``, a disk code, or as
    ///   ``add(_:)-(DownloadRequest)``.
    public func repair(
        _ path: String,
        from request: DownloadRequest? = nil,
        url: URL? = nil,
        headers: [HeaderField]? = nil,
        progress: @escaping @Sendable (_ done: Int64, _ of: Int64) -> Void = { _, _ in }
    ) async throws(DownloadError) -> Repair {
        try checkIsOpen()
        let path = try Self.absolute(path)
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
        guard try await services.onDisk({ () throws(DiskError) in try disk.status(path) }) != nil else {
            return .fetching(try await add(request), wrongBytes: size)
        }
        let placement = placement
        let file = try await services.runBlocking { () throws(DownloadError) in try placement.lock(path) }
        let isStopping = engine.environment.isStopping
        let found = try await services.onDisk { () throws(DiskError) in
            try PieceDigests(pieces, total: size).right(in: file, until: isStopping, progress: progress)
        }
        try checkIsOpen()
        guard let right = found else { throw DownloadError.isShutDown }
        if right.count == size, try await services.status(of: file).size == size {
            try await checkDigest(of: path, request.checksum)
            return .nothingToDo(bytes: size)
        }
        let length = try await services.status(of: file).size
        guard right.count > 0 || length == 0 else {
            throw DownloadError(
                .checksumMismatch,
                "Not one piece of \(path) is right: it is another file, or the digests are another's. It was left as it is."
            )
        }
        try await takeApart(file, right, request)
        return .fetching(try await add(request), wrongBytes: size - right.count)
    }

    /// Checks the digest of a file whose pieces are all correct.
    private func checkDigest(of path: String, _ checksum: DownloadRequest.Checksum?) async throws(DownloadError) {
        guard let checksum else { return }
        let actual = try await services.digest(checksum.algorithm, of: path, until: engine.environment.isStopping)
        guard actual == checksum else {
            throw DownloadError(
                .checksumMismatch,
                "Every piece of \(path) is right, but it has the digest \(actual), not \(checksum): the digests contradict each other. It was left as it is."
            )
        }
    }

    /// The request of the newest download that ended in this file.
    private func earlierRequest(for path: String) async throws(DownloadError) -> DownloadRequest {
        guard let request = try await store.find(finalPath: path)?.request else {
            throw DownloadError(
                .invalidMetalink,
                "Haul did not download \(path), or does not remember it: name a Metalink that describes the file."
            )
        }
        return request
    }

    /// Makes the file a partial file that has only the correct pieces.
    private func takeApart(_ file: any DiskFile, _ right: ByteSet, _ request: DownloadRequest)
        async throws(DownloadError)
    {
        let part = FilePaths.part(of: file.path)
        try await services.onDisk { () throws(DiskError) in try file.sync() }
        let now = time.date()
        let known = try await keyed(request)
        let id = known ?? catalog.factory.nextID(at: now)
        var record = DownloadRecord(id, try Self.checked(request), createdAt: now)
        record.repair(try await services.status(of: file), file.path)
        // Recorded before it is renamed: a crash in between leaves the file as it was, under its own name.
        try await store.commit(record, PersistedRanges(written: right, synced: right), durably: true)
        let (disk, placement) = (disk, placement)
        do {
            try await services.onDisk { () throws(DiskError) in
                try placement.move(file, from: file.path, to: part, replacing: false)
                do throws(DiskError) { try disk.syncFolder(FilePaths.folder(of: part)) } catch {
                    try placement.move(file, from: part, to: file.path, replacing: false)
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

    /// The download that already has this key: a key identifies one download, and the repair is of its file.
    private func keyed(_ request: DownloadRequest) async throws(DownloadError) -> DownloadID? {
        guard request.key != nil, let saved = try await store.find(request) else { return nil }
        return DownloadID(saved.record.id)
    }

    /// Refuses to repair the file of a download that is running.
    private func leave(_ request: DownloadRequest) async throws(DownloadError) {
        guard let saved = try await store.find(request), let id = DownloadID(saved.record.id), let task = tasks[id],
            !task.isAtRest
        else { return }
        throw FilePlacement.inUse(task.record.file ?? request.url.messageText, owner: nil)
    }
}
