/// Keeps the speed limit of all downloads together: the lower one of the application's limit and the timetable's.
///
/// Confined to the actor of its downloader.
final class SpeedControl {
    /// The limiter of all downloads. The limiter of each download has it as parent.
    let limiter: RateLimiter
    /// Limit of the application in bytes per second; `nil` for no limit.
    var ownLimit: Int64?

    init(_ bytesPerSecond: Int64?, time: EngineClock) {
        ownLimit = bytesPerSecond
        limiter = RateLimiter(bytesPerSecond, now: time.now)
    }

    /// Sets the limiter to the lower one of `ownLimit` and `bytesPerSecond`, the limit of the timetable. `nil` and 0
    /// mean no limit.
    func limit(_ bytesPerSecond: Int64?) {
        limiter.bytesPerSecond = [ownLimit, bytesPerSecond].compactMap(\.self).filter { $0 > 0 }.min()
    }
}

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
