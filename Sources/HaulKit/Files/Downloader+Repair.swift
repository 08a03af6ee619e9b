public import Foundation
internal import NIOCore

/// The result of comparing a file with the digests of its pieces.
public enum Repair: Sendable {
    /// Every piece is correct. The file of `bytes` bytes was only read.
    case nothingToDo(bytes: Int64)
    /// A download fetches `wrongBytes` wrong or missing bytes. The rest of the file is kept. With 0, every piece is
    /// correct, but the file is too long, and the download removes the surplus bytes.
    case fetching(Download, wrongBytes: Int64)
}

/// Repairs files on disk that are damaged or incomplete.
extension Downloader {
    /// Compares a file with the digests of its pieces, and fetches only the wrong pieces.
    ///
    /// The file stays unchanged under its name. Its correct pieces are copied to `NAME.haulpart`, and the wrong pieces
    /// are fetched into the copy. The copy replaces the file when all pieces are correct, so a repair needs as much
    /// space as the file. The same call, or ``add(_:)-(DownloadRequest)``, continues a repair that was interrupted or
    /// has failed.
    ///
    /// - Parameters:
    ///   - path: the file. If it does not exist, all of it is fetched.
    ///   - request: has the sources and the digests of the pieces; its destination is ignored. `nil`: the stored
    ///     request that downloaded the file, which must have digests of pieces.
    ///   - url: the first source, in place of the request's URL.
    ///   - headers: header fields in place of those of the request. `nil` keeps the fields of the request, unless `url`
    ///     has another origin.
    ///   - allowsInsecureRedirects: the value in place of ``DownloadRequest/allowsInsecureRedirects`` of the request;
    ///     `nil` keeps the value of the request.
    ///   - progress: called repeatedly, on a background thread, with the number of compared bytes and the number of all
    ///     bytes.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidMetalink`` if there are no digests of pieces,
    ///   or `request` is `nil` and no stored request has downloaded the file, ``DownloadError/Code/checksumMismatch``
    ///   if no piece of the file is correct, or all pieces are correct and the digest of the whole file is not,
    ///   ``DownloadError/Code/fileExists`` if the file has several names (hard links), ``DownloadError/Code/inUse`` if
    ///   a download or another process has the file, ``DownloadError/Code/shutDown``, a disk code, or as
    ///   ``add(_:)-(DownloadRequest)``.
    public func repair(
        _ path: String,
        from request: DownloadRequest? = nil,
        url: URL? = nil,
        headers: [HeaderField]? = nil,
        allowsInsecureRedirects: Bool? = nil,
        progress: @escaping @Sendable (_ done: Int64, _ of: Int64) -> Void = { _, _ in }
    ) async throws(DownloadError) -> Repair {
        try checkIsOpen()
        let path = try Self.absolute(path)
        let given = request
        var request: DownloadRequest
        if let given { request = given } else { request = try await earlierRequest(for: path) }
        request.destination = .file(path: path)
        if let url {
            // Header fields for one origin must not go to another.
            if Origin(url) != Origin(request.url) { request.headers = [] }
            request.url = url
        }
        if let headers { request.headers = headers }
        if let allowsInsecureRedirects { request.allowsInsecureRedirects = allowsInsecureRedirects }
        try await leave(request)
        guard let pieces = request.pieces, let size = request.size, pieces.covers(size) else {
            throw DownloadError(
                .invalidMetalink,
                "There are no digests of pieces to compare \(path) with: name a Metalink that has them."
            )
        }
        guard try await services.exists(path) else {
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
            _ = try await earlierCopy(of: file, for: request, atLeast: .max)
            return .nothingToDo(bytes: size)
        }
        let length = try await services.status(of: file).size
        guard right.count > 0 || length == 0 else {
            throw DownloadError(
                .checksumMismatch,
                "Not one piece of \(path) is right: it is another file, or the digests are another's. It was left as it is."
            )
        }
        if try await earlierCopy(of: file, for: request, atLeast: right.count) {
            file.unlock()
        } else {
            try await copy(right, of: file, request)
        }
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

    /// Returns the request of the newest download with this final path.
    private func earlierRequest(for path: String) async throws(DownloadError) -> DownloadRequest {
        guard let request = try await store.find(finalPath: path)?.request else {
            throw DownloadError(
                .invalidMetalink,
                "Haul did not download \(path), or does not remember it: name a Metalink that describes the file."
            )
        }
        return request
    }

    /// Returns whether an earlier repair left a copy that this repair can continue with: the copy belongs to the same
    /// pieces and size, and has at least `least` correct bytes. Removes any other copy.
    ///
    /// - Parameter file: the damaged file, locked. Its present status is recorded, because the repaired file replaces
    ///   the damaged one even if that one has changed since the earlier repair.
    private func earlierCopy(of file: any DiskFile, for request: DownloadRequest, atLeast least: Int64)
        async throws(DownloadError) -> Bool
    {
        let part = FilePaths.part(of: file.path)
        guard var record = try await store.find(partPath: part, besides: ""), let damaged = record.damagedFile,
            let id = DownloadID(record.id)
        else { return false }
        let disk = disk
        let found = try await services.onDisk { () throws(DiskError) in try disk.status(part) }
        let progress = try await store.find(id: record.id)?.progress?.persisted(bootID: disk.bootID)
        let isSame = record.request.pieces == request.pieces && record.request.size == request.size
        guard isSame, let known = record.part, found?.isSameFile(as: known) == true, progress?.count ?? 0 >= least
        else {
            try await remove(id)
            return false
        }
        let present = try await services.status(of: file)
        if !present.isUnchanged(since: damaged) {
            record.request.repairs = present
            try await store.commit(record, nil, durably: true)
        }
        return true
    }

    /// Creates the partial file and the record of a repair, and copies the correct pieces of `file` to the partial
    /// file. If the copy fails, removes the partial file, and removes the record or restores the earlier record with
    /// the key of the request. `file` always stays unchanged.
    private func copy(_ right: ByteSet, of file: any DiskFile, _ request: DownloadRequest) async throws(DownloadError) {
        let (disk, placement) = (disk, placement)
        let damaged = try await services.status(of: file)
        let checked = try Self.checked(request)
        let earlier = try await keyed(request)
        let known = earlier.flatMap { DownloadID($0.record.id) }
        let (part, status) = try await services.runBlocking { () throws(DownloadError) in
            try placement.createCopy(FilePaths.part(of: file.path))
        }
        let now = time.date()
        let id = known ?? catalog.factory.nextID(at: now)
        var record = DownloadRecord(id, checked, createdAt: now)
        record.repair(damaged, at: file.path, with: status)
        let isStopping = engine.environment.isStopping
        do throws(DownloadError) {
            // Records the copy while it is empty, so that the store knows its download after a crash.
            try await store.commit(record, .zero, durably: true)
            let isWhole = try await services.onDisk { () throws(DiskError) in
                guard try Self.copy(right, of: file, to: part, until: isStopping) else { return false }
                disk.copyPermissions(of: file.path, to: part.path)
                try part.sync()
                try disk.syncFolder(FilePaths.folder(of: part.path))
                return true
            }
            guard isWhole else { throw DownloadError.isShutDown }
            try await store.commit(record, PersistedRanges(written: right, synced: right), durably: true)
        } catch {
            // Throws the first error, not one of the cleanup.
            try? await services.onDisk { () throws(DiskError) in try placement.remove(part) }
            if let earlier {
                try? await store.commit(earlier.record, earlier.progress?.persisted(bootID: disk.bootID))
            } else {
                try? await store.remove(record.id)
            }
            throw error
        }
        part.unlock()
        file.unlock()
        if known == nil { announceAddition(of: record, received: right.count) }
    }

    /// - Returns: `false` if `flag` was set before the last byte.
    private static func copy(
        _ ranges: ByteSet,
        of file: any DiskFile,
        to target: any DiskFile,
        until flag: CancelFlag
    ) throws(DiskError) -> Bool {
        for range in ranges.ranges {
            var position = range.lowerBound
            while position < range.upperBound {
                if flag.isSet { return false }
                let block = try file.read(at: position, count: Int(min(range.upperBound - position, 1 << 20)))
                // Another program has shortened the file since the comparison.
                guard !block.isEmpty else { throw DiskError(.cutShort, call: "pread", path: file.path) }
                try target.write([ByteBuffer(bytes: block)], at: position)
                position += Int64(block.count)
            }
        }
        return true
    }

    /// Returns the download that already has the key of the request. A key identifies one download, so the repair
    /// belongs to that download.
    private func keyed(_ request: DownloadRequest) async throws(DownloadError) -> DownloadStore.Saved? {
        request.key == nil ? nil : try await store.find(request)
    }

    /// Refuses to repair the file of a download that is running.
    private func leave(_ request: DownloadRequest) async throws(DownloadError) {
        guard let saved = try await store.find(request), let id = DownloadID(saved.record.id), let task = tasks[id],
            !task.isAtRest
        else { return }
        throw FilePlacement.inUse(task.record.file ?? request.url.messageText, owner: nil)
    }
}
