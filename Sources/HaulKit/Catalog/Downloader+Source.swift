internal import Foundation

/// Replaces the URL of a download when the application asks for it.
extension Downloader {
    /// Continues a download from another URL of the same file; see ``Download/replaceSource(_:)``.
    package func replaceSource(of id: DownloadID, with source: DownloadSource) async throws(DownloadError) {
        try checkIsOpen()
        try check(source)
        if let task = tasks[id] { return try await replaceSource(of: task, with: source) }
        try await withCatalogLock { downloader throws(DownloadError) in
            guard let task = try await downloader.catalog.load(id) else { throw .notFound(id) }
            try await downloader.replaceSource(of: task, with: source)
        }
    }

    /// Checks whether ``Download/replaceSource(_:)`` would accept a source at present. Changes nothing.
    ///
    /// - Throws: ``DownloadError`` as ``Download/replaceSource(_:)``.
    package func checkSource(_ source: DownloadSource, for snapshot: DownloadSnapshot) throws(DownloadError) {
        try check(source)
        if snapshot.state == .completed { throw Self.isComplete(snapshot.path ?? snapshot.name) }
    }

    private func check(_ source: DownloadSource) throws(DownloadError) {
        guard readers.canRead(source.url) else {
            throw DownloadError(
                .invalidURL,
                "This is not an \(readers.schemes("or")) URL with a host: \(source.url.messageText)."
            )
        }
    }

    private static func isComplete(_ path: String) -> DownloadError {
        DownloadError(
            .fileExists,
            "The download is complete, and its file is \(path). Nothing is left to be fetched."
        )
    }

    private func replaceSource(of task: DownloadTask, with source: DownloadSource) async throws(DownloadError) {
        if case .completed(let path) = task.machine.state {
            scheduler.evict(task)
            throw Self.isComplete(path)
        }
        await task.replaceSource(with: source)
        scheduler.evict(task)
    }

    /// Checks that a source reader can read the URL of a request. If the request has no URL, checks that it has a key
    /// and that the downloader has a source provider. Also checks that the media type of a POST body can be sent as a
    /// header field.
    func checkSource(_ request: DownloadRequest) throws(DownloadError) {
        if case .post(_, let type) = request.method, HeaderField("Content-Type", type) == nil {
            throw .isNoHeader("Content-Type")
        }
        guard request.needsSource else { return try readers.check(request.url) }
        guard let key = request.key, !key.isEmpty else {
            throw DownloadError(
                .invalidURL,
                "A request without a URL needs a key for the source provider."
            )
        }
        guard configuration.sources.provider != nil else {
            throw DownloadError(
                .invalidURL,
                "The request \(key) has no URL, and there is no source provider. Set Configuration.sources.provider."
            )
        }
    }
}
