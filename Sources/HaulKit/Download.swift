/// A handle on one download. Cheap to copy; holds its downloader.
public struct Download: Sendable, Identifiable {
    public let id: DownloadID
    let downloader: Downloader
    let hub: EventBroadcaster
    /// Where it came from a call of the chain of closures: see `DownloadCallbacks`.
    var callbacks: CallbackLine?

    init(_ id: DownloadID, _ downloader: Downloader, _ hub: EventBroadcaster) {
        self.id = id
        self.downloader = downloader
        self.hub = hub
    }

    /// The state when it last changed or made progress. Needs no waiting for the downloader.
    public var snapshot: DownloadSnapshot { hub.snapshot }

    /// What happens in this run: first the present state, last how the run ended.
    public var events: DownloadEvents { DownloadEvents(hub) }

    /// The last events of this run only: for those who do not follow it on its way, which costs more than a small file.
    public var ending: DownloadEvents { DownloadEvents(hub, onlyTheEnd: true) }

    /// Waits for the end of the run, or says at once how the last one ended: also of a download that an earlier process
    /// completed or gave up. A paused download is waited for until it is resumed and ends, and one of a store that was opened
    /// with ``Configuration/Restoration/onRequest`` until it is added again.
    ///
    /// A graceful shutdown of the group of services that the task belongs to does not end the wait; the shut-down of the
    /// downloader does.
    ///
    /// - Throws: why it ended without a file; ``DownloadError/Code/cancelled`` when it was cancelled or removed together with
    ///   its file; ``DownloadError/Code/waitCancelled`` when this task was cancelled, which leaves the download as it is;
    ///   ``DownloadError/Code/shutDown``.
    public func result() async throws(DownloadError) -> CompletedDownload {
        let listener = hub.listen(onlyTheEnd: true)
        defer { listener.leave() }
        while let event = await listener.next() {
            if case .ended(let outcome) = event { return try outcome.result.get() }
        }
        throw DownloadError(.waitCancelled, "The wait for the download was cancelled. The download itself was not.")
    }

    /// See ``Downloader/pause(_:)``.
    public func pause() async throws(DownloadError) { try await downloader.pause(id) }
    /// See ``Downloader/resume(_:)``.
    public func resume() async throws(DownloadError) { try await downloader.resume(id) }
    /// See ``Downloader/startNow(_:)``.
    public func startNow() async throws(DownloadError) { try await downloader.startNow(id) }
    /// See ``Downloader/setPriority(_:of:)-(_,DownloadID)``.
    public func setPriority(_ priority: Int) async throws(DownloadError) {
        try await downloader.setPriority(priority, of: id)
    }
    /// See ``Downloader/move(_:to:)``.
    public func move(to place: Downloader.Place) async throws(DownloadError) {
        try await downloader.move([id], to: place)
    }
    /// Returns the handle of the new run. See ``Downloader/fetchAgain(_:)``.
    @discardableResult
    public func fetchAgain() async throws(DownloadError) -> Download { try await downloader.fetchAgain(id) }
    /// See ``Downloader/setSpeedLimit(_:of:)``.
    public func setSpeedLimit(_ bytesPerSecond: Int64?) async throws(DownloadError) {
        try await downloader.setSpeedLimit(bytesPerSecond, of: id)
    }
    /// See ``Downloader/replaceSource(of:with:)``.
    public func replaceSource(_ source: DownloadSource) async throws(DownloadError) {
        try await downloader.replaceSource(of: id, with: source)
    }
    /// See ``Downloader/cancel(_:)``.
    public func cancel() async throws(DownloadError) { try await downloader.cancel(id) }
    /// See ``Downloader/remove(_:deletingFile:)``.
    public func remove(deletingFile: Bool = false) async throws(DownloadError) {
        try await downloader.remove(id, deletingFile: deletingFile)
    }
}
