/// The downloads that were added under one ``DownloadRequest/group``: a course, an album, a release. A
/// ``DownloadGroup`` may be made before it has downloads. To pause, resume, retry, cancel or remove the downloads, pass
/// ``DownloadFilter/group(_:)`` to the methods of ``Downloader``.
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

    /// The group's downloads that match a filter. The group that the filter names is ignored.
    ///
    /// - Throws: as ``summary()``.
    public func list(_ filter: DownloadFilter = .all) async throws(DownloadError) -> [DownloadSnapshot] {
        var filter = filter
        filter.group = name
        return try await downloader.list(filter)
    }
}
