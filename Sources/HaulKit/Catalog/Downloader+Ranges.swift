extension Downloader {
    /// The byte ranges of a download's file that have been received, in order, whether it runs or not. Those of a running one are in
    /// its snapshot as well, and those of a finished one are the whole file.
    ///
    /// - Returns: nil when the store has no such download.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    package func receivedRanges(of id: DownloadID) async throws(DownloadError) -> [Range<Int64>]? {
        try checkIsOpen()
        if let task = tasks[id] { return Array(task.machine.persisted.written.ranges) }
        guard let saved = try await store.find(id: id.description) else { return nil }
        guard let progress = saved.progress else { return [] }
        return Array(ByteSet(text: progress.written).union(ByteSet(text: progress.synced)).ranges)
    }
}
