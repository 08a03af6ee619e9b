internal import Logging

/// Short names for the parts of the engine that public calls use.
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
    /// The tasks of the downloads in memory.
    var tasks: [DownloadID: DownloadTask] { catalog.tasks }
    var loadedCount: Int { tasks.count }
    var isShuttingDown: Bool { engine.environment.isShuttingDown }

    /// Throws ``DownloadError/Code/shutDown`` after the shutdown, when another downloader may own the store. Public
    /// calls that throw make this check, directly or in ``withCatalogLock(_:)``.
    func checkIsOpen() throws(DownloadError) { try engine.environment.checkIsOpen() }

    /// Makes a change while no other change is under way; see ``DownloadCatalog/lock(isolation:)``.
    func withCatalogLock<Value>(
        _ change: (isolated Downloader) async throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        try await catalog.lock()
        defer { catalog.unlock() }
        return try await change(self)
    }
}
