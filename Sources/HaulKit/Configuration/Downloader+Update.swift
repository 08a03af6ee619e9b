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
    /// The closure runs where the call is made, so that it may read the state of that actor:
    ///
    /// ```swift
    /// @MainActor final class Settings {
    ///     var limit = 3
    ///     func save(to downloader: Downloader) async throws {
    ///         try await downloader.update { $0.queue.maxConcurrentDownloads = self.limit }
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter change: changes a copy of ``configuration``. Called again, with the newer settings, when another call of
    ///   this method changed them meanwhile.
    /// - Returns: the settings that `change` changed and that need a new downloader; empty when every change applies.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/shutDown``, and nothing has changed;
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/diskFull`` when the changes apply, but are not remembered.
    @discardableResult
    public nonisolated(nonsending) func update(_ change: (inout Configuration) -> Void) async throws(DownloadError)
        -> Set<Configuration.FixedSetting>
    {
        while true {
            var (settings, revision) = try await presentSettings()
            change(&settings)
            if let kept = try await take(settings, ifStillAt: revision) { return kept }
        }
    }

    private func presentSettings() throws(DownloadError) -> (Configuration, revision: Int) {
        try checkIsOpen()
        return (configuration, engine.environment.revision)
    }

    /// - Returns: the fixed settings that were to change; `nil` when other settings were taken since `revision`, and nothing has
    ///   changed.
    private func take(_ settings: Configuration, ifStillAt revision: Int) async throws(DownloadError)
        -> Set<Configuration.FixedSetting>?
    {
        try checkIsOpen()
        guard revision == engine.environment.revision else { return nil }
        let old = configuration
        var new = settings
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
