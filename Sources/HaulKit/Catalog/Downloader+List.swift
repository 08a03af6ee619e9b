/// Listing and counting downloads.
extension Downloader {
    /// A page of downloads, in the order of the query; by default all downloads, in the order of adding.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func list(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> [DownloadSnapshot] {
        try checkIsOpen()
        return engine.reader.snapshots(of: try await store.list(engine.reader.condition(query)))
    }

    /// The number of downloads that match a query; its offset and limit are ignored.
    ///
    /// - Throws: as ``list(_:)``.
    public func count(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> Int {
        try checkIsOpen()
        return try await store.count(engine.reader.condition(query))
    }
}
