internal import HTTPTypes
package import HaulKit
internal import Hummingbird
package import Logging

/// The objects that the routes use.
package struct Services: Sendable {
    package let downloader: Downloader
    package let feed: ChangeFeed
    package let sessions: Sessions
    package let live: LiveConfiguration
    package let settings: SettingsKeeper
    package let sets: SetKeeper
    package let logger: Logger
    /// The metrics that the downloader reports; `nil` if it reports them elsewhere.
    package let metrics: MetricsRegistry?

    package var configuration: ServerConfiguration { live.configuration }
    package var folders: AllowedFolders { live.folders }

    /// Returns the handle of the download whose id is in the path.
    package func download(_ context: ServerContext) async throws -> Download {
        // The key of an extension finds only the downloads that it added.
        guard let text = context.parameters.get("id"), let id = DownloadID(text), let download = try await known(id),
            context.key.map({ $0.owner == download.snapshot.owner }) ?? true
        else {
            throw Problem(.notFound, "notFound", "There is no download with this id.")
        }
        return download
    }

    private func known(_ id: DownloadID) async throws -> Download? {
        do { return try await downloader.find(id: id) } catch { throw Problem(error) }
    }

    /// Returns the present row of a download.
    ///
    /// - Throws: ``Problem`` with status 404 if the download has been removed.
    package func row(_ id: DownloadID) async throws -> DownloadRow {
        do throws(DownloadError) {
            guard let snapshot = try await downloader.list(.ids([id])).first else { throw DownloadError.missing }
            return DownloadRow(snapshot)
        } catch { throw Problem(error) }
    }
}

extension DownloadError {
    fileprivate static var missing: DownloadError {
        DownloadError(code: .notFound, message: "There is no download with this id.")
    }
}

/// Runs a call of the downloader. Throws its error as a ``Problem``.
func problems<Value>(_ body: () async throws(DownloadError) -> Value) async throws(Problem) -> Value {
    do { return try await body() } catch { throw Problem(error) }
}
