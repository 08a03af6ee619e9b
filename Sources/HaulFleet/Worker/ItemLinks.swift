internal import HaulKit
internal import Synchronization

/// Gives the downloads of items of the form `s3://BUCKET/KEY` their links: the first one, and the next one before it
/// expires.
final class ItemLinks: Sendable {
    private let sources: S3Sources
    private let objects = Mutex<[String: S3Object]>([:])

    init(_ sources: S3Sources) { self.sources = sources }

    /// Prepares the item for ``link(for:)``.
    ///
    /// - Throws: ``FleetError`` if the worker has no credentials now, so that the item goes back without an attempt.
    func add(_ object: S3Object, key: String) async throws(FleetError) {
        try await sources.keys()
        objects.withLock { $0[key] = object }
    }

    func remove(key: String) { objects.withLock { $0[key] = nil } }

    /// Returns the link of a download.
    func link(for query: SourceQuery) async throws -> DownloadSource {
        guard let key = query.key, let object = objects.withLock({ $0[key] }) else {
            throw FleetError(.cancelled, "The worker no longer has the item.")
        }
        return DownloadSource(try await sources.link(to: object))
    }
}
