extension Downloader {
    /// Returns the received byte ranges of a download's file, in order, whether the download runs or not. The snapshot
    /// of a running download has them too. Those of a finished download are the whole file.
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
