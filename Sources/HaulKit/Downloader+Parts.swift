internal import Logging

/// The parts that public calls act through, by their names.
extension Downloader {
    nonisolated var readers: SourceReaders { services.readers }
    nonisolated var disk: any Disk { services.disk }
    nonisolated var store: DownloadStore { services.store }
    nonisolated var time: EngineClock { services.time }
    nonisolated var placement: FilePlacement { services.placement }
    nonisolated var cookieCollection: CookieCollection { services.cookieCollection }
    nonisolated var logger: Logger { services.logger }

    var catalog: DownloadCatalog { engine.catalog }
    var scheduler: Scheduler { engine.scheduler }
    var space: SpaceMonitor { engine.environment.space }
    var pool: ConnectionPool { engine.environment.pool }
    var notifications: Notifications { engine.environment.notifications }
    var idle: IdleMonitor { engine.idle }
    /// The downloads in memory.
    var tasks: [DownloadID: DownloadTask] { catalog.tasks }
    /// How many are in memory.
    var loadedCount: Int { tasks.count }
    var isShuttingDown: Bool { engine.environment.isShuttingDown }

    /// Called first by every public call: after the shutdown another downloader may own the store.
    func checkIsOpen() throws(DownloadError) { try engine.environment.checkIsOpen() }

    /// Makes a change while no other is under way: see ``DownloadCatalog/lock(isolation:)``.
    func withCatalogLock<Value>(
        _ change: (isolated Downloader) async throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        try await catalog.lock()
        defer { catalog.unlock() }
        return try await change(self)
    }
}
