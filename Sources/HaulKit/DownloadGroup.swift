/// The downloads that were added under one ``DownloadRequest/group``: a course, an album, a release.
public struct DownloadGroup: Sendable {
    public let name: String
    let downloader: Downloader

    /// Everything about the group at this moment, added up.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed``, as the other calls.
    public func summary() async throws(DownloadError) -> DownloadSummary {
        try await downloader.summary(DownloadQuery(group: name))
    }

    /// What happens to the group's downloads from now on; ``DownloaderEvent/finished(_:)`` when none of them waits or runs any
    /// more.
    public var events: DownloaderEvents { downloader.events(ofGroup: name) }

    /// The group's downloads; what the query says of groups is not regarded.
    public func list(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> [DownloadSnapshot] {
        var query = query
        query.group = name
        return try await downloader.list(query)
    }

    @discardableResult
    public func pause() async throws(DownloadError) -> Int { try await downloader.pause(.group(name)) }
    @discardableResult
    public func resume() async throws(DownloadError) -> Int { try await downloader.resume(.group(name)) }
    @discardableResult
    public func retry() async throws(DownloadError) -> Int { try await downloader.retry(.group(name)) }
    @discardableResult
    public func cancel() async throws(DownloadError) -> Int { try await downloader.cancel(.group(name)) }
    @discardableResult
    public func remove(deletingFiles: Bool = false) async throws(DownloadError) -> Int {
        try await downloader.remove(.group(name), deletingFiles: deletingFiles)
    }
}
