/// The downloads that were added under one ``DownloadRequest/group``: a course, an album, a release. A handle may be
/// made before the group has downloads.
public struct DownloadGroup: Sendable {
    /// The name that requests give in ``DownloadRequest/group``.
    public let name: String
    let downloader: Downloader

    /// The number, bytes and progress of the group's downloads at this moment. Empty for a group without downloads.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func summary() async throws(DownloadError) -> DownloadSummary {
        try await downloader.summary(.group(name))
    }

    /// The events of the group's downloads from now on. ``DownloaderEvent/finished(_:)`` comes when no download of the
    /// group waits or runs any more. After ``Downloader/shutDown()`` the sequence is empty.
    public var events: DownloaderEvents { downloader.events(.group(name)) }

    /// The group's downloads that match a filter; its group is replaced by this group's name.
    ///
    /// - Throws: as ``summary()``.
    public func list(_ filter: DownloadFilter = .all) async throws(DownloadError) -> [DownloadSnapshot] {
        var filter = filter
        filter.group = name
        return try await downloader.list(filter)
    }

    /// Pauses the downloads of the group that wait or run; see ``Downloader/pause(_:)``.
    ///
    /// - Returns: the number of downloads paused.
    /// - Throws: as ``summary()``.
    @discardableResult
    public func pause() async throws(DownloadError) -> Int { try await downloader.pause(.group(name)) }
    /// Queues the paused downloads of the group; see ``Downloader/resume(_:)``.
    ///
    /// - Returns: the number of downloads queued.
    /// - Throws: as ``summary()``.
    @discardableResult
    public func resume() async throws(DownloadError) -> Int { try await downloader.resume(.group(name)) }
    /// Queues the failed downloads of the group; see ``Downloader/retry(_:)``.
    ///
    /// - Returns: the number of downloads queued.
    /// - Throws: as ``summary()``.
    @discardableResult
    public func retry() async throws(DownloadError) -> Int { try await downloader.retry(.group(name)) }
    /// Deletes the unfinished downloads of the group with their bytes; see
    /// ``Downloader/cancel(_:)``.
    ///
    /// - Returns: the number of downloads cancelled.
    /// - Throws: as ``summary()``.
    @discardableResult
    public func cancel() async throws(DownloadError) -> Int { try await downloader.cancel(.group(name)) }
    /// Removes every download of the group from the store; see ``Downloader/remove(_:deletingFiles:)``.
    ///
    /// - Parameter deletingFiles: also deletes finished files that are unchanged.
    /// - Returns: the number of downloads removed.
    /// - Throws: as ``Downloader/remove(_:deletingFiles:)``.
    @discardableResult
    public func remove(deletingFiles: Bool = false) async throws(DownloadError) -> Int {
        try await downloader.remove(.group(name), deletingFiles: deletingFiles)
    }
}
