/// Events and summaries of the whole downloader, or of a group.
extension Downloader {
    /// The events of all downloads from now on. After ``shutDown()`` the sequence is empty.
    public nonisolated var events: DownloaderEvents { DownloaderEvents(broadcast, .all) }

    /// The events of the downloads that match a filter from now on: of a group, for example. After ``shutDown()`` the
    /// sequence is empty.
    ///
    /// ``DownloaderEvent/finished(_:)`` and changes that are told together are those of the filter's group, or of all
    /// downloads; its other conditions restrict the events that have a snapshot, and its ids also
    /// ``DownloaderEvent/removed(_:group:)``. Order, offset and limit are ignored.
    public nonisolated func events(_ filter: DownloadFilter) -> DownloaderEvents { DownloaderEvents(broadcast, filter) }

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

    /// The number, bytes and progress of the downloads that match a filter; its offset and limit are ignored.
    /// ``DownloadSummary/bytesPerSecond`` is the speed of the running downloads of the filter's group, owner, ids and
    /// predicate; its other conditions do not restrict the speed.
    ///
    /// - Throws: as ``groups()``.
    public func summary(_ filter: DownloadFilter = .all) async throws(DownloadError) -> DownloadSummary {
        try checkIsOpen()
        return try await engine.reader.sum(filter)
    }
}
