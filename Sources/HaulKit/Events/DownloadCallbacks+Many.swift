/// Closures and results of several downloads: those that a call of ``Downloader/add(_:)-([DownloadRequest])`` returned, for example.
///
/// Each closure is attached to every download of the array, as by a chain of its own: it hears the present state at once, and
/// closures of different downloads do not wait for each other.
extension [Download] {
    /// Calls back on the main actor with the present state of each download, and then whenever its state or progress change.
    @discardableResult
    public func onProgress(_ body: @escaping @MainActor (DownloadSnapshot) -> Void) -> [Download] {
        map { $0.onProgress(body) }
    }

    /// Calls back with the present state of each download, and then whenever its state or progress change.
    @discardableResult
    public func onProgress(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (DownloadSnapshot) -> Void
    ) -> [Download] {
        map { $0.onProgress(on: place, body) }
    }

    /// Calls back on the main actor once for each download whose file is there.
    @discardableResult
    public func onSuccess(_ body: @escaping @MainActor (CompletedDownload) -> Void) -> [Download] {
        map { $0.onSuccess(body) }
    }

    /// Calls back once for each download whose file is there.
    @discardableResult
    public func onSuccess(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (CompletedDownload) -> Void
    ) -> [Download] {
        map { $0.onSuccess(on: place, body) }
    }

    /// Calls back on the main actor once for each download whose run ends without a file, with its last state; a cancelled one has
    /// the code ``DownloadError/Code/cancelled``.
    @discardableResult
    public func onFailure(_ body: @escaping @MainActor (DownloadSnapshot, DownloadError) -> Void) -> [Download] {
        map { download in
            // Not the handle: a closure must not keep the downloader.
            let hub = download.hub
            return download.onFailure { body(hub.snapshot, $0) }
        }
    }

    /// Calls back once for each download whose run ends without a file, with its last state; a cancelled one has the code
    /// ``DownloadError/Code/cancelled``.
    @discardableResult
    public func onFailure(
        on place: Download.CallbackPlace,
        _ body: @escaping @Sendable (DownloadSnapshot, DownloadError) -> Void
    ) -> [Download] {
        map { download in
            let hub = download.hub
            return download.onFailure(on: place) { body(hub.snapshot, $0) }
        }
    }

    /// Waits until the run of every download has ended.
    ///
    /// - Returns: a file or an error for each, in their order; for those that had not ended when this task was cancelled the code
    ///   is ``DownloadError/Code/waitCancelled``, and they stay as they are.
    public func results() async -> [Result<CompletedDownload, DownloadError>] {
        var results: [Result<CompletedDownload, DownloadError>] = []
        for download in self { results.append(await download.outcome().result) }
        return results
    }
}
