internal import Foundation

/// Lists, checks, fetches again and removes the files of finished downloads.
extension Downloader {
    private static let filesAtOnce = 256

    // MARK: Asking

    func storedFiles(_ filter: DownloadFilter) async throws(DownloadError) -> [StoredFile] {
        try checkIsOpen()
        var filter = filter
        filter.states = [.completed]
        return await engine.files.look(
            at: try await store.list(engine.reader.condition(try await engine.reader.resolved(filter)))
        )
    }

    func storedBytes() async throws(DownloadError) -> StoredBytes {
        try checkIsOpen()
        let sums = try await store.storedBytes()
        return StoredBytes(
            finishedFiles: sums.finishedFiles,
            finished: sums.finished,
            unfinishedFiles: sums.unfinishedFiles,
            unfinished: sums.unfinished
        )
    }

    func missingFiles(_ filter: DownloadFilter) async throws(DownloadError) -> [StoredFile] {
        try checkIsOpen()
        return try await engine.files.missing(filter)
    }

    func fileState(_ id: DownloadID) async throws(DownloadError) -> FileState? {
        try checkIsOpen()
        guard let record = try await store.find(id: id.description)?.record else { throw .notFound(id) }
        return record.status == .completed ? try await services.fileState(record) : nil
    }

    func freeDiskSpace(at path: String) async throws(DownloadError) -> Int64? {
        try checkIsOpen()
        let (disk, path) = (disk, try Self.absolute(path))
        return try await services.onDisk { () throws(DiskError) in try disk.freeSpace(near: path)?.free }
    }

    // MARK: Fetching again

    /// Fetches a finished file again if it is missing or has changed; see ``Download/fetchAgain()``.
    @discardableResult
    package func fetchAgain(_ id: DownloadID) async throws(DownloadError) -> Download {
        idle.additionBegan([])
        defer { idle.additionEnded([]) }
        return try await withCatalogLock { downloader throws(DownloadError) in
            guard let saved = try await downloader.store.find(id: id.description) else { throw .notFound(id) }
            var request = saved.record.request
            request.onDuplicate = .join
            return try await downloader.addOne(request, saved)
        }
    }

    // MARK: Removing

    func removeFinished(olderThan age: Duration, deletingFiles: Bool) async throws(DownloadError)
        -> CacheRemoval
    {
        try await removeFinished(before: time.date() - age.seconds, deletingFiles: deletingFiles)
    }

    /// Removes completed downloads that ended before a date.
    @discardableResult
    func removeFinished(before date: Date, deletingFiles: Bool = true) async throws(DownloadError)
        -> CacheRemoval
    {
        try checkIsOpen()
        var result = CacheRemoval()
        guard date > .distantPast else { return result }
        let date = min(date, .distantFuture)
        var passed = 0
        while try await removePage(before: date, behind: &passed, deletingFiles, &result) {}
        space.invalidateUsage()
        return result
    }

    func clear(deletingFiles: Bool) async throws(DownloadError) -> CacheRemoval {
        try await cancel(.all)
        return try await removeFinished(before: .distantFuture, deletingFiles: deletingFiles)
    }

    /// - Parameter passed: number of rows that the page skips, because they stay in the store: rows of kept files, and
    ///   unreadable rows. The call adds the rows of its own page that stay.
    /// - Returns: whether the store may have more rows to remove.
    private func removePage(
        before date: Date,
        behind passed: inout Int,
        _ deletingFiles: Bool,
        _ result: inout CacheRemoval
    ) async throws(DownloadError) -> Bool {
        let first = passed
        let (page, count) = try await withCatalogLock { downloader throws(DownloadError) -> (CacheRemoval, Int) in
            var filter = DownloadFilter(states: [.completed], offset: first, limit: Self.filesAtOnce)
            filter.ended = .distantPast..<date
            let (rows, count) = try await downloader.store.page(downloader.engine.reader.condition(filter))
            var page = CacheRemoval()
            for file in await downloader.engine.files.look(at: rows) {
                await downloader.removeFile(file, deletingFiles, &page)
            }
            let completed = StoreCondition.ids(page.removed.map(\.id)).only([.completed])
            let removed = try await downloader.store.removeRows(completed, isListed: downloader.broadcast.isHeard)
            if deletingFiles { downloader.tellHoldersOfRemovedFiles(page.removed.map(\.id)) }
            downloader.notifications.announce(removed)
            return (page, count)
        }
        passed += count - page.removed.count
        result.removed += page.removed
        result.left += page.left
        result.freedBytes = result.freedBytes.addingClamped(page.freedBytes)
        return count >= Self.filesAtOnce
    }

    /// Adds the file to the removed files of `page` or to those that are left. Deletes an unchanged file if
    /// `deletingFiles` is set.
    private func removeFile(_ file: StoredFile, _ deletingFiles: Bool, _ page: inout CacheRemoval) async {
        guard deletingFiles else { return page.removed.append(file) }
        guard file.error == nil else { return page.left.append(file) }
        switch file.state {
        case .missing: page.removed.append(file)
        case .changed: page.left.append(file)
        case .unchanged:
            let disk = disk
            do throws(DownloadError) {
                try await services.onDisk { () throws(DiskError) in try disk.remove(file.path) }
                page.removed.append(file)
                page.freedBytes = page.freedBytes.addingClamped(file.bytes)
            } catch {
                var file = file
                file.error = error
                page.left.append(file)
            }
        }
    }
}

extension Download {
    /// Returns the state of the finished file, or `nil` while the download is not complete. See
    /// ``Download/fetchAgain()``.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` if the store has no such download any
    ///   more; with a disk code if the file cannot be examined; ``DownloadError/Code/storeFailed`` or
    ///   ``DownloadError/Code/shutDown``.
    public func fileState() async throws(DownloadError) -> FileState? { try await downloader.fileState(id) }
}
