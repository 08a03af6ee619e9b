/// Events and summaries of the whole downloader, or of a group.
extension Downloader {
    /// The events of all downloads from now on. After ``shutDown()`` the sequence is empty.
    public nonisolated var events: DownloaderEvents { DownloaderEvents(broadcast, .all) }

    /// The events, from now on, of the downloads that match a filter, for example of a group. After ``shutDown()`` the
    /// sequence is empty.
    ///
    /// ``DownloaderEvent/finished(_:)`` and changes that are reported together are those of the filter's group, or of
    /// all downloads. The other conditions restrict the events that have a snapshot. The ids also restrict
    /// ``DownloaderEvent/removed(_:group:)``. Order, offset and limit are ignored.
    public nonisolated func events(_ filter: DownloadFilter) -> DownloaderEvents { DownloaderEvents(broadcast, filter) }

    /// Returns a handle of a group, which may have no downloads yet.
    public nonisolated func group(_ name: String) -> DownloadGroup { DownloadGroup(name: name, downloader: self) }

    /// Returns the groups with their summaries, by name. The downloads without a group come first, as group `nil`.
    /// Speeds are not included: ``DownloadSummary/bytesPerSecond`` is 0.
    ///
    /// - Throws: ``DownloadError`` with the code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func groups() async throws(DownloadError) -> [(group: String?, summary: DownloadSummary)] {
        try checkIsOpen()
        return try await store.groups().map { (group: $0.group, summary: $0.summary) }
    }

    /// Returns the number, bytes and progress of the downloads that match a filter. Its offset and limit are ignored.
    /// ``DownloadSummary/bytesPerSecond`` is the speed of the running downloads that match the group, owner, ids and
    /// predicate of the filter. The other conditions do not restrict the speed.
    ///
    /// - Throws: as ``groups()``.
    public func summary(_ filter: DownloadFilter = .all) async throws(DownloadError) -> DownloadSummary {
        try checkIsOpen()
        return try await engine.reader.sum(filter)
    }
}
