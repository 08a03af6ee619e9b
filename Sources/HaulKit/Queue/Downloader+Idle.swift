extension Downloader {
    /// Waits until no download waits or runs, and returns the summary of all downloads.
    ///
    /// Returns at once if no download waits or runs, as after adding a list whose files are all complete.
    ///
    /// A download is idle if the user paused it, or if it failed or completed. A held download
    /// (``DownloadSnapshot/holdReason``) is not idle: the call waits for it. When the call returns, the files of all
    /// completed downloads have their final names, and the records of all ended downloads are written. The call also
    /// waits while another call adds downloads.
    ///
    /// - Returns: the summary of all downloads of the store, including those that ended before or in other processes.
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
    /// Waits until no download of the group waits or runs, and returns the summary of all downloads of the group.
    /// Returns at once if the group is idle already or empty. Waits for a call that is still adding to the group.
    ///
    /// A failed download does not fail the group; ``DownloadSummary/failed`` counts it. A download that the user paused
    /// is idle. A held download (``HoldReason``) is not idle: the call waits for it, because the reason ends by itself.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/waitCancelled`` when this task is cancelled, which
    ///   leaves the downloads as they are; ``DownloadError/Code/shutDown`` when the downloader is or was shut down
    ///   first; ``DownloadError/Code/storeFailed``.
    public func result() async throws(DownloadError) -> DownloadSummary {
        try await downloader.waitUntilIdle(group: name)
    }

    /// Adds downloads to the group in several steps that form one batch. The group does not end before the closure
    /// does, even if all downloads added so far are complete.
    ///
    /// ```swift
    /// try await downloader.group("course").expectMore {
    ///     for page in pages { await downloader.add(try await page.requests()) }
    /// }
    /// ```
    ///
    /// Until the closure returns or throws, ``result()`` and ``Downloader/waitUntilIdle()`` wait,
    /// and none of ``DownloaderEvent/finished(_:)``, ``HookEvent/groupEnded`` and ``HookEvent/allCompleted`` is
    /// reported. If all downloads have ended by then, the end is reported when the closure ends. Calls for the same
    /// group may overlap; the group can end when the last of them ends. A closure that waits for the end of its own
    /// group never ends.
    ///
    /// After ``Downloader/shutDown()`` the closure still runs, and its calls throw.
    ///
    /// - Parameters:
    ///   - isolation: the actor that the closure runs on; by default the caller's.
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
