internal import Logging
public import ServiceLifecycle

/// Makes a downloader a service of a server. A `ServiceGroup` runs it with other services and shuts all of them down in
/// order.
///
/// ```swift
/// let downloader = try await Downloader(name: "mirror")
/// try await ServiceGroup(services: [downloader], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
extension Downloader: Service {
    /// Returns after the group has shut down gracefully or the task was cancelled, and ``shutDown()`` has completed.
    /// Does not throw.
    ///
    /// Downloads run as soon as the downloader has been made, with or without this call.
    public func run() async throws {
        do { try await gracefulShutdown() } catch { logger.debug("cancelled: \(error)") }
        await shutDown()
    }
}
