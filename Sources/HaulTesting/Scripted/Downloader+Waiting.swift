public import HaulKit

extension Downloader {
    /// Waits until one of the downloads is in a state that a test needs, for code that does not give out its handles.
    ///
    /// ```swift
    /// let failed = try await downloader.snapshot { $0.key == "swift/1" && $0.state == .failed }
    /// ```
    ///
    /// - Returns: the first snapshot that meets the condition, the present ones included. `nil` if the downloader shuts
    ///   down or the task is cancelled before there is one.
    /// - Throws: ``HaulKit/DownloadError`` with code ``HaulKit/DownloadError/Code/storeFailed`` or
    ///   ``HaulKit/DownloadError/Code/shutDown``.
    public nonisolated func snapshot(where condition: (DownloadSnapshot) -> Bool) async throws(DownloadError)
        -> DownloadSnapshot?
    {
        // The sequence begins before the list is read, so that no change falls between the two.
        let events = events
        if let present = try await list().first(where: condition) { return present }
        for await event in events {
            switch event {
            case .added(let snapshot), .changed(let snapshot), .progressed(let snapshot), .ended(let snapshot, _):
                if condition(snapshot) { return snapshot }
            case .changedTogether, .addedTogether:
                if let present = try await list().first(where: condition) { return present }
            case .removed, .removedTogether, .finished: break
            }
        }
        return nil
    }
}
