internal import Logging
public import ServiceLifecycle

/// A downloader as a service of a server: a `ServiceGroup` runs it with the others and shuts it down in order.
///
/// ```swift
/// let downloader = try await Downloader(name: "mirror")
/// try await ServiceGroup(services: [downloader], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
extension Downloader: Service {
    /// Returns after the group shuts down gracefully or the task is cancelled, and ``shutDown()`` has completed. Does
    /// not throw.
    ///
    /// Downloads run from the moment at which the downloader is made, with or without this call.
    public func run() async throws {
        do { try await gracefulShutdown() } catch { logger.debug("cancelled: \(error)") }
        await shutDown()
    }
}
