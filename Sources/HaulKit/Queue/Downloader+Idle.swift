/// Waiting until downloads are idle.
extension Downloader {
    /// Waits until no download waits or runs, and returns the summary of all downloads; returns at once if that is so
    /// already, as after adding a list whose files are all complete.
    ///
    /// A download that was paused by the user, failed or completed is idle. A held download
    /// (``DownloadSnapshot/holdReason``) is not: the call waits for it. When the call returns, the files of all ended
    /// downloads have their final names and the records are written. Downloads added by a call that returned before
    /// this call are counted.
    ///
    /// - Returns: the sum of all downloads of the store, those included that ended before or in other processes.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/waitCancelled`` when the task is cancelled,
    ///   ``DownloadError/Code/shutDown`` when the downloader was or is shut down first,
    ///   ``DownloadError/Code/storeFailed``.
    public func waitUntilIdle() async throws(DownloadError) -> DownloadSummary {
        try await waitUntilIdle(group: nil)
    }

    func waitUntilIdle(group: String?) async throws(DownloadError) -> DownloadSummary {
        try checkIsOpen()
        let number = scheduler.idle.number()
        let result: Result<DownloadSummary, DownloadError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: .failure(Self.isNotAwaited)) }
                scheduler.idle.wait(number, .init(group: group, continuation: continuation))
            }
        } onCancel: {
            Task { await self.stopWaiting(number) }
        }
        return try result.get()
    }

    private static let isNotAwaited = DownloadError(
        .waitCancelled,
        "The wait for the downloads was cancelled. The downloads themselves were not."
    )

    func expectationBegan(of group: String) { idle.expectationBegan(of: group) }
    func expectationEnded(of group: String) { idle.expectationEnded(of: group) }

    private func stopWaiting(_ number: Int) { scheduler.idle.stopWaiting(number, Self.isNotAwaited) }
}

extension DownloadGroup {
    /// Waits until no download of the group waits or runs, and returns the group's summary; returns at once if that is
    /// so already, or if the group has no downloads. See ``Downloader/waitUntilIdle()``.
    ///
    /// - Throws: as ``Downloader/waitUntilIdle()``.
    public func waitUntilIdle() async throws(DownloadError) -> DownloadSummary {
        try await downloader.waitUntilIdle(group: name)
    }

    /// How the group ended: waits until none of its downloads waits or runs, and returns them added up. Returns at once when that is so
    /// already, also when the group is empty. A call that is still adding to the group is waited for.
    ///
    /// A failed download does not fail the group: it is counted by ``DownloadSummary/failed``. What was paused by the user is at rest;
    /// what is held for a reason that ends by itself (``HoldReason``) is waited for.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/waitCancelled`` when this task is cancelled, which leaves the
    ///   downloads as they are; ``DownloadError/Code/shutDown`` when the downloader is or was shut down first;
    ///   ``DownloadError/Code/storeFailed``.
    public func result() async throws(DownloadError) -> DownloadSummary {
        try await downloader.waitUntilIdle(group: name)
    }

    /// Adds downloads to the group in several steps, which are one batch: the group does not end before the closure does, even
    /// if everything that was added so far is complete.
    ///
    /// ```swift
    /// try await downloader.group("course").expectMore {
    ///     for page in pages { await downloader.add(try await page.requests()) }
    /// }
    /// ```
    ///
    /// Until the closure returns or throws, ``result()``, ``waitUntilIdle()`` and ``Downloader/waitUntilIdle()`` wait, and
    /// none of ``DownloaderEvent/finished(_:)``, ``HookEvent/groupEnded`` and ``HookEvent/allCompleted`` is reported. If all
    /// downloads have ended by then, that is reported at its end. Calls for the same group may overlap; the last one to
    /// end counts. A closure that waits for the end of its own group never ends.
    ///
    /// After ``Downloader/shutDown()`` the closure runs all the same, and its calls throw.
    ///
    /// - Parameters:
    ///   - isolation: the actor that the closure runs on; the caller's.
    ///   - add: adds downloads whose ``DownloadRequest/group`` is this group.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws.
    public func expectMore<Value, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ add: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        await downloader.expectationBegan(of: name)
        let result: Result<Value, Failure>
        do throws(Failure) { result = .success(try await add()) } catch { result = .failure(error) }
        await downloader.expectationEnded(of: name)
        return try result.get()
    }
}
