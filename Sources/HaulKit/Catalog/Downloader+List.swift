extension Downloader {
    /// Returns a page of downloads, in the order of the filter; by default all downloads, in the order of adding.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func list(_ filter: DownloadFilter = .all) async throws(DownloadError) -> [DownloadSnapshot] {
        try checkIsOpen()
        return engine.reader.snapshots(
            of: try await store.list(engine.reader.condition(try await engine.reader.resolved(filter)))
        )
    }

    /// Returns the number of downloads that match a filter; its offset and limit are ignored.
    ///
    /// - Throws: as ``list(_:)``.
    package func count(_ filter: DownloadFilter = .all) async throws(DownloadError) -> Int {
        try checkIsOpen()
        return try await store.count(engine.reader.condition(try await engine.reader.resolved(filter)))
    }

    /// Whether a folder has, or gets, the file of a download that is not of `owner`.
    ///
    /// - Throws: as ``list(_:)``.
    package func hasDownloads(in folder: String, besidesThoseOf owner: String) async throws(DownloadError) -> Bool {
        try checkIsOpen()
        return try await store.count(.files(in: folder, besidesThoseOf: owner)) > 0
    }
}

extension Download {
    /// Returns the request as the store has it, with later changes such as ``rename(to:)`` and ``setPriority(_:)``. The
    /// request may hold passwords and tokens.
    ///
    /// - Returns: `nil` if the store no longer has the download.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func request() async throws(DownloadError) -> DownloadRequest? { try await downloader.request(id) }
}

extension Downloader {
    fileprivate func request(_ id: DownloadID) async throws(DownloadError) -> DownloadRequest? {
        try checkIsOpen()
        if let task = tasks[id] { return task.record.request }
        return try await store.list(.ids([id])).first?.record.request
    }
}

extension Downloader {
    /// Returns the received byte ranges of a download's file, in order, whether the download runs or not. The snapshot
    /// of a running download has them too. The ranges of a finished download cover the whole file.
    ///
    /// - Returns: `nil` if the store has no such download.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    package func receivedRanges(of id: DownloadID) async throws(DownloadError) -> [Range<Int64>]? {
        try checkIsOpen()
        if let task = tasks[id] { return Array(task.machine.persisted.written.ranges) }
        guard let saved = try await store.find(id: id.description) else { return nil }
        guard let progress = saved.progress else { return [] }
        return Array(ByteSet(text: progress.written).union(ByteSet(text: progress.synced)).ranges)
    }
}
