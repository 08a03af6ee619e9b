public import Foundation
internal import NIOCore

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
    /// The file stays as it is under its name. What is correct in it is copied to `NAME.haulpart`, the wrong pieces are fetched
    /// into the copy, and the copy replaces the file when all of it is correct. So a repair needs as much space as the file.
    /// The same call, or ``add(_:)-(DownloadRequest)``, continues a repair that was interrupted or has failed.
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

    /// Whether the copy of an earlier repair has this many correct bytes, so that the repair continues with it. One that has fewer, or
    /// is that of another description, is removed.
    ///
    /// - Parameter file: the damaged file, which is locked. The repaired one is to replace it as it is now, also if it has changed since the
    ///   earlier repair.
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

    /// Copies the correct pieces of a file to a partial file. Whatever fails, the file stays as it is.
    private func copy(_ right: ByteSet, of file: any DiskFile, _ request: DownloadRequest) async throws(DownloadError) {
        let (disk, placement) = (disk, placement)
        let damaged = try await services.status(of: file)
        let (part, status) = try await services.runBlocking { () throws(DownloadError) in
            try placement.createCopy(FilePaths.part(of: file.path))
        }
        let now = time.date()
        let known = try await keyed(request)
        let id = known ?? catalog.factory.nextID(at: now)
        var record = DownloadRecord(id, try Self.checked(request), createdAt: now)
        record.repair(damaged, at: file.path, with: status)
        let isStopping = engine.environment.isStopping
        do throws(DownloadError) {
            // Recorded while it is empty: after a crash, the copy belongs to a download that the store knows.
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
            // The first error is the one to tell.
            try? await services.onDisk { () throws(DiskError) in try placement.remove(part) }
            try? await store.remove(record.id)
            throw error
        }
        part.unlock()
        file.unlock()
        if known == nil { announceAddition(of: record, received: right.count) }
    }

    /// - Returns: false when the flag was set before the last byte.
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
                // Another program has cut it since it was compared.
                guard !block.isEmpty else { throw DiskError(.cutShort, call: "pread", path: file.path) }
                try target.write([ByteBuffer(bytes: block)], at: position)
                position += Int64(block.count)
            }
        }
        return true
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
