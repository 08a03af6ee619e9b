/// Limits of speed: of all downloads together, and of one.
extension Downloader {
    /// Limits the speed of all downloads together from now on: ``update(_:)`` of ``Configuration/Network/bytesPerSecond``.
    ///
    /// - Parameter bytesPerSecond: bytes per second; `nil`, 0 or a negative number for no limit.
    /// - Throws: as ``update(_:)``.
    public func setSpeedLimit(_ bytesPerSecond: Int64?) async throws(DownloadError) {
        try await update { $0.network.bytesPerSecond = bytesPerSecond }
    }

    /// Limits the speed of one download from now on; the limit of all downloads applies as well. Stored with the
    /// download.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: `nil`, 0 or a negative number for no limit of its own.
    ///   - id: the download.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` when the store has no such download,
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func setSpeedLimit(_ bytesPerSecond: Int64?, of id: DownloadID) async throws(DownloadError) {
        try await withCatalogLock { downloader throws(DownloadError) in
            guard let task = try await downloader.catalog.load(id) else { throw .notFound(id) }
            task.setSpeedLimit(bytesPerSecond)
            downloader.scheduler.evict(task)
        }
    }
}
