internal import Logging
public import ServiceLifecycle

/// A downloader as one service of a server: a `ServiceGroup` runs it beside the others and shuts it down in order.
///
/// ```swift
/// let downloader = try await Downloader(name: "mirror")
/// try await ServiceGroup(services: [downloader], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
extension Downloader: Service {
    /// Downloads until the group shuts down gracefully or the task is cancelled, and then does what ``shutDown()`` does.
    ///
    /// Downloads run from the moment the downloader is made, with or without this.
    public func run() async throws {
        do { try await gracefulShutdown() } catch { logger.debug("cancelled: \(error)") }
        await shutDown()
    }
}
