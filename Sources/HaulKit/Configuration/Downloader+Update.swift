/// Reading and changing settings while the downloader runs.
extension Downloader {
    /// The present settings: those that the downloader was opened with, those that the store remembers
    /// (``Configuration/Storage/remembersSettings``), and every change by ``update(_:)``. After ``shutDown()``: the last ones.
    public var configuration: Configuration { engine.environment.configuration }

    /// Changes settings from now on.
    ///
    /// ```swift
    /// try await downloader.update { settings in
    ///     settings.queue.maxConcurrentDownloads = 2
    ///     settings.network.bytesPerSecond = 500_000
    /// }
    /// ```
    ///
    /// Settings that are read when a downloader opens (``Configuration/FixedSetting``) stay as they are, and are
    /// returned; all others apply when the call returns. Running downloads continue where fewer may run now, and those
    /// that may no longer run are held. Each setting says when a change applies to downloads that run already. When
    /// other hooks are set, deliveries of the former ones are completed, and ends before this call do not count for
    /// ``HookEvent/groupEnded`` and ``HookEvent/allCompleted``.
    ///
    /// With ``Configuration/Storage/remembersSettings``, the changed settings that can be remembered are stored before the
    /// call returns.
    ///
    /// - Parameter change: changes a copy of ``configuration``.
    /// - Returns: the settings that `change` changed and that need a new downloader; empty when every change applies.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/shutDown``, and nothing has changed;
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/diskFull`` when the changes apply, but are not remembered.
    @discardableResult
    public func update(_ change: @Sendable (inout Configuration) -> Void) async throws(DownloadError)
        -> Set<Configuration.FixedSetting>
    {
        try checkIsOpen()
        let old = configuration
        var new = old
        change(&new)
        let kept = new.keepFixedSettings(of: old)
        engine.apply(new)
        let changes = new.storage.remembersSettings ? new.changes(from: old) : []
        if !changes.isEmpty { try await store.remember(changes) }
        return kept
    }

    /// Forgets what ``Configuration/Storage/remembersSettings`` has remembered. The present settings stay until the
    /// downloader is opened again.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func forgetSettings() async throws(DownloadError) {
        try checkIsOpen()
        try await store.forgetSettings()
    }
}
