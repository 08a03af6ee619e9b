/// Speed limits of all downloads together and of one download.
extension Downloader {
    /// Limits the speed of all downloads together from now on. Sets ``Configuration/Network/bytesPerSecond`` with
    /// ``update(_:)``.
    ///
    /// - Parameter bytesPerSecond: bytes per second; `nil`, 0 or a negative number for no limit.
    /// - Throws: as ``update(_:)``.
    public func setSpeedLimit(_ bytesPerSecond: Int64?) async throws(DownloadError) {
        try await update { $0.network.bytesPerSecond = bytesPerSecond }
    }

    /// Limits the speed of one download; see ``Download/setSpeedLimit(_:)``.
    package func setSpeedLimit(_ bytesPerSecond: Int64?, of id: DownloadID) async throws(DownloadError) {
        try await withCatalogLock { downloader throws(DownloadError) in
            guard let task = try await downloader.catalog.load(id) else { throw .notFound(id) }
            task.setSpeedLimit(bytesPerSecond)
            downloader.scheduler.evict(task)
        }
    }
}
