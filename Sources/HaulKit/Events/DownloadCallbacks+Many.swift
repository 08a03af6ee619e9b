/// Closures and results of several downloads, for example of those that ``Downloader/add(_:)-([DownloadRequest])``
/// returned.
///
/// Each download of the array gets the closure in a separate chain. The present state of each download is reported at
/// once. Closures of different downloads do not wait for each other.
extension [Download] {
    /// Calls back on the main actor with the present state of each download, and then whenever its state or progress
    /// changes.
    @discardableResult
    public func onProgress(_ body: @escaping @MainActor (DownloadSnapshot) -> Void) -> [Download] {
        map { $0.onProgress(body) }
    }

    /// Calls back on the main actor for each download when its file is complete, once per run.
    @discardableResult
    public func onSuccess(_ body: @escaping @MainActor (CompletedDownload) -> Void) -> [Download] {
        map { $0.onSuccess(body) }
    }

    /// Calls back on the main actor for each download whose run ends without a file, with its last state. A cancelled
    /// run has the code ``DownloadError/Code/cancelled``.
    @discardableResult
    public func onFailure(_ body: @escaping @MainActor (DownloadSnapshot, DownloadError) -> Void) -> [Download] {
        map { download in
            // Captures the hub, because a handle in the closure would keep the downloader alive.
            let hub = download.hub
            return download.onFailure { body(hub.snapshot, $0) }
        }
    }

    /// Waits until the run of every download has ended.
    ///
    /// - Returns: the file or the error of each download, in the order of the array. If the calling task is cancelled,
    ///   downloads that have not ended get the code ``DownloadError/Code/waitCancelled`` and continue.
    public func results() async -> [Result<CompletedDownload, DownloadError>] {
        var results: [Result<CompletedDownload, DownloadError>] = []
        for download in self { results.append(await download.outcome().result) }
        return results
    }
}
