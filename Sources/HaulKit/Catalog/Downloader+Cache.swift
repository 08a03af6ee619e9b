public import Foundation

/// The files that downloads left behind: what there is, what has become of it, and being rid of it.
extension Downloader {
    private static let filesAtOnce = 256

    // MARK: Asking

    /// A page of finished files, each looked at on the disk.
    ///
    /// - Parameter query: which; its states do not count.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``, as all of
    ///   these calls.
    public func storedFiles(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> [StoredFile] {
        try checkIsOpen()
        var query = query
        query.states = [.completed]
        return await look(at: try await store.list(condition(query))).map(\.file)
    }

    /// How much the files take, finished and unfinished ones. Answered by the store: the disk is not asked.
    public func storedBytes() async throws(DownloadError) -> StoredBytes {
        try checkIsOpen()
        let sums = try await store.storedBytes()
        return StoredBytes(
            finishedFiles: sums.finishedFiles,
            finished: sums.finished,
            unfinishedFiles: sums.unfinishedFiles,
            unfinished: sums.unfinished
        )
    }

    /// The finished files that are gone, or are not any more what was downloaded. ``fetchAgain(_:)`` fetches one anew.
    ///
    /// - Parameter query: which files are looked at; its states do not count.
    public func missingFiles(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> [StoredFile] {
        try checkIsOpen()
        var (query, missing) = (query, [StoredFile]())
        query.states = [.completed]
        var left = query.limit ?? .max
        while left > 0 {
            query.limit = min(left, Self.filesAtOnce)
            let page = try await store.page(condition(query))
            missing += await look(at: page.rows).map(\.file).filter { $0.state != .unchanged }
            if page.count < query.limit ?? 0 { break }
            query.offset += page.count
            left -= page.count
        }
        return missing
    }

    /// What has become of the file of a download; nil while it has none that is finished.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` when the store has no such download; with that of the
    ///   disk's failure when the file cannot be looked at; ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func fileState(_ id: DownloadID) async throws(DownloadError) -> FileState? {
        try checkIsOpen()
        guard let record = try await store.find(id: id.description)?.record else { throw .notFound(id) }
        return record.status == .completed ? try await fileState(record) : nil
    }

    /// Bytes that this user may still write at a path, which need not be there yet; nil where the file system does not say.
    public func freeDiskSpace(at path: String) async throws(DownloadError) -> Int64? {
        try checkIsOpen()
        let (disk, path) = (disk, Self.absolute(path))
        return try await onDisk { () throws(DiskError) in try disk.freeSpace(near: path)?.free }
    }

    /// - Throws: what keeps it from being looked at.
    func fileState(_ record: DownloadRecord) async throws(DownloadError) -> FileState {
        let disk = disk
        return try await onDisk { () throws(DiskError) in try record.fileState(on: disk) }
    }

    // MARK: Fetching again

    /// Fetches a finished file anew that is gone or has been changed; what stands in its place is treated as the request said
    /// (``DownloadRequest/onConflict``). A file that is unchanged is left, and one that is unfinished goes on.
    ///
    /// - Returns: its handle, of the new run where there is one.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` when the store has no such download; otherwise as
    ///   ``add(_:)-(DownloadRequest)``.
    @discardableResult
    public func fetchAgain(_ id: DownloadID) async throws(DownloadError) -> Download {
        pendingAdditions += 1
        defer { additionEnded() }
        return try await withCatalogLock { downloader throws(DownloadError) in
            guard let saved = try await downloader.store.find(id: id.description), var request = saved.record.request
            else { throw .notFound(id) }
            request.onDuplicate = .join
            return try await downloader.addOne(request, saved)
        }
    }

    // MARK: Removing

    /// Forgets finished downloads that ended so long ago, and deletes their files: those that are still what was downloaded.
    ///
    /// - Parameter deletingFiles: false leaves all files where they are, and forgets only the records.
    @discardableResult
    public func removeFinished(olderThan age: Duration, deletingFiles: Bool = true) async throws(DownloadError)
        -> CacheRemoval
    {
        try await removeFinished(before: time.date() - age.seconds, deletingFiles: deletingFiles)
    }

    /// The same for those that ended before a date.
    @discardableResult
    public func removeFinished(before date: Date, deletingFiles: Bool = true) async throws(DownloadError)
        -> CacheRemoval
    {
        try checkIsOpen()
        var result = CacheRemoval()
        guard date > .distantPast else { return result }
        let date = min(date, .distantFuture)
        var passed = 0
        while try await removePage(before: date, behind: &passed, deletingFiles, &result) {}
        stored.invalidate()
        return result
    }

    /// Forgets everything: unfinished downloads are cancelled, finished ones removed with their files.
    @discardableResult
    public func clear(deletingFiles: Bool = true) async throws(DownloadError) -> CacheRemoval {
        try await cancel(.all)
        return try await removeFinished(before: .distantFuture, deletingFiles: deletingFiles)
    }

    /// - Parameter passed: rows that stay, and are in the way of the next page: what was left, and what cannot be read.
    /// - Returns: whether there may be more.
    private func removePage(
        before date: Date,
        behind passed: inout Int,
        _ deletingFiles: Bool,
        _ result: inout CacheRemoval
    ) async throws(DownloadError) -> Bool {
        let first = passed
        let (page, count) = try await withCatalogLock { downloader throws(DownloadError) -> (CacheRemoval, Int) in
            var query = DownloadQuery(states: [.completed], offset: first, limit: Self.filesAtOnce)
            query.ended = .distantPast..<date
            let (rows, count) = try await downloader.store.page(downloader.condition(query))
            var page = CacheRemoval()
            for found in await downloader.look(at: rows) {
                await downloader.take(found, deletingFiles, &page)
            }
            var gone = StoreCondition.ids(page.removed.map(\.id))
            gone.add("status = 'completed'")
            let removed = try await downloader.forget(gone)
            if deletingFiles { downloader.tellHoldersOfRemovedFiles(page.removed.map(\.id)) }
            downloader.announce(removed)
            return (page, count)
        }
        passed += count - page.removed.count
        result.removed += page.removed
        result.left += page.left
        result.freedBytes = result.freedBytes.addingClamped(page.freedBytes)
        return count >= Self.filesAtOnce
    }

    private func take(_ found: Found, _ deletingFiles: Bool, _ page: inout CacheRemoval) async {
        let file = found.file
        guard deletingFiles else { return page.removed.append(file) }
        if let error = found.error { return page.left.append(.init(file: file, reason: .failed(error))) }
        switch file.state {
        case .missing: page.removed.append(file)
        case .changed: page.left.append(.init(file: file, reason: .changed))
        case .unchanged:
            let disk = disk
            do throws(DownloadError) {
                try await onDisk { () throws(DiskError) in try disk.remove(file.path) }
                page.removed.append(file)
                page.freedBytes = page.freedBytes.addingClamped(file.bytes)
            } catch { page.left.append(.init(file: file, reason: .failed(error))) }
        }
    }

    // MARK: Looking

    private struct Found: Sendable {
        var file: StoredFile
        /// Why it could not be looked at.
        var error: DownloadError?
    }

    private func look(at rows: [DownloadStore.Listed]) async -> [Found] {
        let disk = disk
        return await runBlocking {
            rows.map { row in
                var (state, failure) = (FileState.changed, DownloadError?.none)
                // What cannot be looked at cannot be vouched for.
                do throws(DiskError) { state = try row.record.fileState(on: disk) } catch {
                    failure = DownloadError(error)
                }
                let file = StoredFile(
                    id: row.id,
                    path: row.record.finalPath ?? "",
                    bytes: row.record.finished?.size ?? row.record.total ?? 0,
                    finishedAt: row.record.finishedAt,
                    state: state
                )
                return Found(file: file, error: failure)
            }
        }
    }
}

extension DownloadRecord {
    fileprivate func fileState(on disk: any Disk) throws(DiskError) -> FileState {
        guard let path = finalPath, let finished else { return .missing }
        let existingFile: FileStatus?
        do throws(DiskError) { existingFile = try disk.status(path) } catch {
            guard error.kind == .notAFolder else { throw error }
            existingFile = nil
        }
        guard let existingFile else { return .missing }
        let isSame =
            existingFile.isSameFile(as: finished) && existingFile.size == finished.size
            && existingFile.modified == finished.modified
        return isSame ? .unchanged : .changed
    }
}

extension Download {
    /// What has become of its file; nil while there is none that is finished. See ``Downloader/fetchAgain(_:)``.
    public func fileState() async throws(DownloadError) -> FileState? { try await downloader.fileState(id) }
}
