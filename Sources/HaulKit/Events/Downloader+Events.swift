/// Events and summaries of the whole downloader, or of a group.
extension Downloader {
    /// The events of all downloads from now on. After ``shutDown()`` the sequence is empty.
    public nonisolated var events: DownloaderEvents { DownloaderEvents(broadcast, group: nil) }

    nonisolated func events(ofGroup name: String) -> DownloaderEvents { DownloaderEvents(broadcast, group: name) }

    /// A handle of a group, which may have no downloads yet.
    public nonisolated func group(_ name: String) -> DownloadGroup { DownloadGroup(name: name, downloader: self) }

    /// The groups with their summaries, by name; the downloads without a group come first. Speeds are not included:
    /// ``DownloadSummary/bytesPerSecond`` is 0.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func groups() async throws(DownloadError) -> [GroupSummary] {
        try checkIsOpen()
        return try await store.groups()
    }

    /// The number, bytes and progress of the downloads that match a query; its offset and limit are ignored.
    /// ``DownloadSummary/bytesPerSecond`` is the speed of the running downloads of the query's group and owner; its
    /// other conditions do not restrict the speed.
    ///
    /// - Throws: as ``groups()``.
    public func summary(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> DownloadSummary {
        try checkIsOpen()
        return try await engine.reader.sum(query)
    }
}
