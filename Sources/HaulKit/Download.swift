/// A handle of one download. Cheap to copy. Holds a strong reference to its downloader.
public struct Download: Sendable, Identifiable {
    /// Identifies the download in its store, across runs and processes.
    public let id: DownloadID
    let downloader: Downloader
    let hub: EventBroadcaster
    /// The closures that calls such as ``onProgress(_:)`` have added to this handle; `nil` before the first such call.
    var callbacks: CallbackLine?

    init(_ id: DownloadID, _ downloader: Downloader, _ hub: EventBroadcaster) {
        self.id = id
        self.downloader = downloader
        self.hub = hub
    }

    /// The download as of its last change of state or report of progress. Does not wait for the downloader's actor.
    public var snapshot: DownloadSnapshot { hub.snapshot }

    /// The events of the current run: first the present state, last the outcome. If the run has ended, the sequence
    /// ends at once, with the outcome. A later run needs a new sequence.
    public var events: DownloadEvents { DownloadEvents(hub) }

    /// The final state and the outcome of the current run, without the earlier events. Costs less time than ``events``:
    /// the events of a small file cost more time than its download.
    package var ending: DownloadEvents { DownloadEvents(hub, onlyTheEnd: true) }

    /// Waits for the end of the run and returns its file.
    ///
    /// If the run has ended, also in an earlier process, the call returns or throws at once. A paused download is
    /// awaited until it is resumed and ends. In a store that was opened with
    /// ``Downloader/Configuration/Restoration/onRequest``, a download of an earlier run is awaited until it is added
    /// again and ends.
    ///
    /// If the calling task belongs to a `ServiceGroup`, a graceful shutdown of the group does not end the wait;
    /// ``Downloader/shutDown()`` does.
    ///
    /// ```swift
    /// .task { file = try? await download.result(onCancel: .pause) }
    /// ```
    ///
    /// - Parameter action: what happens to the download before the call throws because this task was cancelled. If the
    ///   run ends during this action, the call returns or throws the outcome of the run. Default: the download
    ///   continues.
    /// - Throws: the error of a run that ended without a file; ``DownloadError/Code/cancelled`` when the download was
    ///   cancelled, also by ``CancelAction/cancel``, or removed together with its file;
    ///   ``DownloadError/Code/waitCancelled`` when this task was cancelled; ``DownloadError/Code/shutDown``; the error
    ///   of ``Download/pause()`` or ``Download/cancel()`` if `action` fails.
    public func result(onCancel action: CancelAction = .leave) async throws(DownloadError) -> CompletedDownload {
        if let outcome = await end() { return try outcome.result.get() }
        // Acts in a task of its own, because every wait in this cancelled task would end at once.
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

    /// The effect of ``result(onCancel:)`` on the download when the waiting task is cancelled.
    public enum CancelAction: Sendable, Hashable, CaseIterable {
        /// Nothing: the download continues.
        case leave
        /// Pauses the download and keeps its bytes, as ``Download/pause()`` does.
        case pause
        /// Cancels the download and deletes its bytes, as ``Download/cancel()`` does.
        case cancel
    }

    /// Waits for the end of the run as ``result(onCancel:)`` does, and returns its outcome: a file, an error or a
    /// cancellation.
    ///
    /// ```swift
    /// switch await download.outcome() {
    /// case .completed(let file): open(file.path)
    /// case .failed(let error): show(error.message)
    /// case .cancelled: break
    /// }
    /// ```
    ///
    /// - Returns: the outcome of the run; when this task was cancelled first, ``DownloadOutcome/failed(_:)`` with the
    ///   code ``DownloadError/Code/waitCancelled``, which leaves the download as it is.
    public func outcome() async -> DownloadOutcome { await end() ?? .failed(Self.waitCancelled) }

    /// Returns the outcome of the run; `nil` when this task was cancelled first.
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

    // MARK: Changing

    /// Pauses the download and keeps its bytes. Returns when the bytes are on disk and the connections are closed. A
    /// download that has ended or is paused stays as it is.
    ///
    /// If the store cannot record the pause of a running download, the download is paused only until the process ends.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` if the store has no such download any
    ///   more, ``DownloadError/Code/storeFailed``, ``DownloadError/Code/diskFull`` or ``DownloadError/Code/shutDown``.
    public func pause() async throws(DownloadError) { try await downloader.pause(id) }

    /// Queues the download if it is paused or failed, and keeps its bytes. If another process runs the download by now,
    /// the run fails with ``DownloadError/Code/inUse``.
    ///
    /// - Throws: as ``pause()``.
    public func resume() async throws(DownloadError) { try await downloader.resume(id) }

    /// Starts the download before all waiting downloads, whatever their priority. If no slot is free, the download
    /// takes the slot of the running download of the lowest priority, which waits again. A paused or failed download is
    /// resumed. A download that waits before its next attempt makes the attempt at once, even if the server asked for a
    /// longer wait.
    ///
    /// - Throws: as ``pause()``.
    public func startNow() async throws(DownloadError) { try await downloader.startNow(id) }

    /// Changes the priority of the download: higher starts first. See ``DownloadRequest/priority``.
    ///
    /// - Throws: as ``pause()``.
    public func setPriority(_ priority: Int) async throws(DownloadError) {
        try await downloader.setPriority(priority, of: id)
    }

    /// Moves the download to another place in the queue; see ``Downloader/move(_:to:)``.
    ///
    /// - Throws: as ``Downloader/move(_:to:)``.
    public func move(to place: Downloader.Place) async throws(DownloadError) {
        try await downloader.move([id], to: place)
    }

    /// Gives the file another name in its folder. From then on the download counts as added with
    /// ``DownloadRequest/Destination/file(path:)``.
    ///
    /// A finished file is renamed. The file of an unfinished download gets the name when it is complete. If a file of
    /// that name exists by then, ``DownloadRequest/onConflict`` decides. The partial file keeps its own name, and a
    /// running download continues.
    ///
    /// Returns when the name is recorded and, for a finished file, is on disk. After a crash before that, the file has
    /// one of the two names, and the store knows which.
    ///
    /// - Parameter name: a name without a folder, which is used unchanged.
    /// - Throws: ``DownloadError``, after which nothing has changed: code ``DownloadError/Code/invalidDestination`` if
    ///   the name is empty, invisible, `.` or `..`, contains a slash or a null character, or ends in `.haulpart`;
    ///   ``DownloadError/Code/nameTooLong``; ``DownloadError/Code/fileExists`` if a file or folder of this name exists;
    ///   ``DownloadError/Code/inUse`` if another unfinished download has the name, the file is being repaired, the
    ///   unfinished file belongs to a set, or another process runs the download; ``DownloadError/Code/diskFailed`` if a
    ///   finished file is missing or another file is in its place; another disk code if the system refuses;
    ///   ``DownloadError/Code/notFound`` if the store has no such download any more;
    ///   ``DownloadError/Code/storeFailed``; ``DownloadError/Code/shutDown``.
    public func rename(to name: String) async throws(DownloadError) { try await downloader.relocate(id, name: name) }

    /// Moves the file to another folder, under its name. The folder is made if it does not exist.
    ///
    /// A finished file is moved. The file of an unfinished download goes to the folder when it is complete; its partial
    /// file stays where it is, and a running download continues. The folder must be on the disk of the file.
    ///
    /// Returns when the folder is recorded and, for a finished file, the file is there on disk. After a crash before
    /// that, the file is in one of the two folders, and the store knows which.
    ///
    /// - Parameter path: absolute, or relative to the working folder.
    /// - Throws: as ``rename(to:)``; code ``DownloadError/Code/invalidDestination`` also if the folder is on another
    ///   disk.
    public func move(toFolder path: String) async throws(DownloadError) {
        try await downloader.relocate(id, toFolder: path)
    }

    /// Moves the file to another folder and gives it another name, in one change. With `nil`, the folder or the name
    /// stays.
    ///
    /// - Throws: as ``rename(to:)`` and ``move(toFolder:)``, and nothing has changed.
    package func relocate(toFolder path: String?, name: String?) async throws(DownloadError) {
        try await downloader.relocate(id, toFolder: path, name: name)
    }

    /// Fetches the finished file again if it is missing or has changed. ``DownloadRequest/onConflict`` of the request
    /// decides about another file in its place. An unchanged file stays, and an unfinished download continues.
    ///
    /// - Returns: the handle of the new run; without a new run, a handle of the present one.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` if the store has no such download any
    ///   more; otherwise as ``Downloader/add(_:)-(DownloadRequest)``.
    @discardableResult
    public func fetchAgain() async throws(DownloadError) -> Download { try await downloader.fetchAgain(id) }

    /// Limits the speed of the download from now on. The limit of all downloads applies as well. The store keeps the
    /// limit with the download.
    ///
    /// - Parameter bytesPerSecond: bytes per second; `nil`, 0 or a negative number for no limit of its own.
    /// - Throws: as ``pause()``.
    public func setSpeedLimit(_ bytesPerSecond: Int64?) async throws(DownloadError) {
        try await downloader.setSpeedLimit(bytesPerSecond, of: id)
    }

    /// Continues the download from another URL of the same file.
    ///
    /// Received bytes are kept as for a URL of the ``SourceProvider`` (see ``DownloadSource``). Open connections to the
    /// old URL continue. Every further request uses the new URL, also one after an interruption. A paused download
    /// stays paused and a failed one stays failed until it is resumed. Returns when the new URL is recorded.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` if the URL has no host or a scheme that
    ///   the downloader cannot read, ``DownloadError/Code/fileExists`` if the download is complete,
    ///   ``DownloadError/Code/notFound`` if the store has no such download any more,
    ///   ``DownloadError/Code/storeFailed``, ``DownloadError/Code/shutDown``.
    public func replaceSource(_ source: DownloadSource) async throws(DownloadError) {
        try await downloader.replaceSource(of: id, with: source)
    }

    /// Cancels the unfinished download: deletes its bytes and its record. A finished download stays as it is. Returns
    /// when the deletion is complete.
    ///
    /// - Throws: as ``pause()``.
    public func cancel() async throws(DownloadError) { try await downloader.cancel(id) }

    /// Removes the download from the store in any state; an unfinished download is cancelled first.
    ///
    /// - Parameter deletingFile: also deletes a finished file that is unchanged. After that, ``result(onCancel:)`` of
    ///   existing handles throws ``DownloadError/Code/cancelled``. If the file stays, the handles still return
    ///   the file. Default: `false`.
    /// - Throws: ``DownloadError`` if the file or the record cannot be removed; with code
    ///   ``DownloadError/Code/notFound`` if the store has no such download any more; ``DownloadError/Code/shutDown``.
    public func remove(deletingFile: Bool = false) async throws(DownloadError) {
        try await downloader.remove(id, deletingFile: deletingFile)
    }
}
