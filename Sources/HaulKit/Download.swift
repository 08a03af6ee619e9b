/// A handle of one download. Cheap to copy. Holds a strong reference to its downloader.
public struct Download: Sendable, Identifiable {
    /// Identifies the download in its store, across runs and processes.
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

    /// The state at the last change or report of progress. Synchronous: does not wait for the downloader.
    public var snapshot: DownloadSnapshot { hub.snapshot }

    /// The events of the current run: first the present state, last the outcome. Ends at once, with the outcome, when
    /// the run has ended.
    public var events: DownloadEvents { DownloadEvents(hub) }

    /// The final state and the outcome of the current run, without the events before them. Costs less than ``events``,
    /// which for a small file cost more than the file itself.
    public var ending: DownloadEvents { DownloadEvents(hub, onlyTheEnd: true) }

    /// Waits for the end of the run and returns its outcome; returns or throws at once when the run has ended, also for
    /// a download that an earlier process completed or gave up. A paused download is awaited until it is resumed and
    /// ends. A download of a store that was opened with ``Downloader/Configuration/Restoration/onRequest`` is awaited until it is
    /// added again and ends.
    ///
    /// A graceful shutdown of the `ServiceGroup` that the task belongs to does not end the wait; the shutdown of the
    /// downloader does.
    ///
    /// - Throws: why it ended without a file; ``DownloadError/Code/cancelled`` when it was cancelled or removed together with
    ///   its file; ``DownloadError/Code/waitCancelled`` when this task was cancelled, which leaves the download as it is;
    ///   ``DownloadError/Code/shutDown``.
    public func result() async throws(DownloadError) -> CompletedDownload {
        try await result(onCancel: .leave)
    }

    /// The effect of ``result(onCancel:)`` on the download when the waiting task is cancelled.
    public enum CancelAction: Sendable, Hashable, CaseIterable {
        /// Nothing: the download continues.
        case leave
        /// Pauses the download and keeps its bytes, as ``Download/pause()`` does.
        case pause
        /// Cancels the download and deletes its bytes, as ``Download/cancel()`` does.
        case cancel
    }

    /// Waits for the end of the run as ``result()`` does, and acts on the download when this task is cancelled.
    ///
    /// ```swift
    /// .task { file = try? await download.result(onCancel: .pause) }
    /// ```
    ///
    /// - Parameter action: what a cancellation of this task does to the download, before the call throws. A run that ended
    ///   meanwhile stays as it is, and its outcome is returned or thrown.
    /// - Throws: as ``result()``; after ``CancelAction/cancel`` the code is ``DownloadError/Code/cancelled``, after
    ///   ``CancelAction/pause`` it is ``DownloadError/Code/waitCancelled``, or that of a pause that failed.
    public func result(onCancel action: CancelAction) async throws(DownloadError) -> CompletedDownload {
        if let outcome = await end() { return try outcome.result.get() }
        // In a task of its own: this one is cancelled, and so would be whatever it waits for.
        let acted = await Task { () async -> Result<Void, DownloadError> in
            do throws(DownloadError) {
                switch action {
                case .leave: break
                case .pause: try await pause()
                case .cancel: try await cancel()
                }
                return .success(())
            } catch { return .failure(error) }
        }.value
        if action != .leave, let outcome = hub.outcome { return try outcome.result.get() }
        try acted.get()
        throw Self.waitCancelled
    }

    /// Waits for the end of the run as ``result()`` does, and returns how it ended: with a file, with an error, or cancelled.
    ///
    /// ```swift
    /// switch await download.outcome() {
    /// case .completed(let file): open(file.path)
    /// case .failed(let error): show(error.message)
    /// case .cancelled: break
    /// }
    /// ```
    ///
    /// - Returns: ``DownloadOutcome/failed(_:)`` with the code ``DownloadError/Code/waitCancelled`` when this task was cancelled,
    ///   which leaves the download as it is.
    public func outcome() async -> DownloadOutcome { await end() ?? .failed(Self.waitCancelled) }

    /// How the run ended; `nil` when this task was cancelled first.
    private func end() async -> DownloadOutcome? {
        let listener = hub.listen(onlyTheEnd: true)
        defer { listener.leave() }
        while let event = await listener.next() {
            if case .ended(let outcome) = event { return outcome }
        }
        return nil
    }

    private static let waitCancelled = DownloadError(
        .waitCancelled,
        "The wait for the download was cancelled. The download itself was not."
    )

    /// Pauses the download and keeps its bytes; see ``Downloader/pause(_:)-(DownloadID)``.
    public func pause() async throws(DownloadError) { try await downloader.pause(id) }
    /// Queues the download again when it is paused or failed; see ``Downloader/resume(_:)-(DownloadID)``.
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
    /// Gives the file another name in its folder; see ``Downloader/rename(_:to:)``.
    public func rename(to name: String) async throws(DownloadError) { try await downloader.rename(id, to: name) }
    /// Returns the handle of the new run. See ``Downloader/fetchAgain(_:)``.
    @discardableResult
    public func fetchAgain() async throws(DownloadError) -> Download { try await downloader.fetchAgain(id) }
    /// Limits the speed of the download, in bytes per second; see ``Downloader/setSpeedLimit(_:of:)``.
    public func setSpeedLimit(_ bytesPerSecond: Int64?) async throws(DownloadError) {
        try await downloader.setSpeedLimit(bytesPerSecond, of: id)
    }
    /// Continues the download from another URL of the same file; see ``Downloader/replaceSource(of:with:)``.
    public func replaceSource(_ source: DownloadSource) async throws(DownloadError) {
        try await downloader.replaceSource(of: id, with: source)
    }
    /// Deletes the bytes and the record of an unfinished download; see ``Downloader/cancel(_:)-(DownloadID)``.
    public func cancel() async throws(DownloadError) { try await downloader.cancel(id) }
    /// Removes the download from the store; see ``Downloader/remove(_:deletingFile:)``.
    public func remove(deletingFile: Bool = false) async throws(DownloadError) {
        try await downloader.remove(id, deletingFile: deletingFile)
    }
}
