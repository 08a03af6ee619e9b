extension Downloader {
    /// Limits the speed of one download; see ``Download/setSpeedLimit(_:)``.
    package func setSpeedLimit(_ bytesPerSecond: Int64?, of id: DownloadID) async throws(DownloadError) {
        try await withCatalogLock { downloader throws(DownloadError) in
            guard let task = try await downloader.catalog.load(id) else { throw .notFound(id) }
            task.setSpeedLimit(bytesPerSecond)
            downloader.scheduler.evict(task)
        }
    }
}
