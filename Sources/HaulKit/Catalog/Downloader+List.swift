/// Listing and counting downloads.
extension Downloader {
    /// A page of downloads, in the order of the filter; by default all downloads, in the order of adding.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func list(_ filter: DownloadFilter = .all) async throws(DownloadError) -> [DownloadSnapshot] {
        try checkIsOpen()
        return engine.reader.snapshots(
            of: try await store.list(engine.reader.condition(try await engine.reader.resolved(filter)))
        )
    }

    /// The number of downloads that match a filter; its offset and limit are ignored.
    ///
    /// - Throws: as ``list(_:)``.
    public func count(_ filter: DownloadFilter = .all) async throws(DownloadError) -> Int {
        try checkIsOpen()
        return try await store.count(engine.reader.condition(try await engine.reader.resolved(filter)))
    }
}
