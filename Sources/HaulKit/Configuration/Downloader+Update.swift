/// Reads and changes settings while the downloader runs.
extension Downloader {
    /// The present settings: the configuration that the downloader was opened with, overridden by the settings that the
    /// store remembers (``Configuration/Storage/remembersSettings``), with every change by ``update(_:)``.
    /// ``shutDown()`` does not change them.
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
    /// Settings that are read only when a downloader opens keep their values. The call returns the paths of those that
    /// `change` has set:
    /// `network.monitor`, `meter`, `cookies`, `collectsCookies` and `certificateAuthorities`; `storage.name`,
    /// `stateFolder`, `isInMemory`, `movingRoot`, `restoration`, `resumesAtStart` and `remembersSettings`;
    /// `hooks.commandTime`, `shutDownTime` and `notifier`; `telemetry.metrics` and `logger`. All other settings apply
    /// when the call returns; each setting says when a change applies to downloads that already run. If a limit becomes
    /// lower than the number of running downloads, these continue. If a new setting keeps a download from running at
    /// all, the download is held.
    ///
    /// If the hooks change, pending deliveries of the former hooks are completed. Downloads that ended before this call
    /// then do not count for ``HookEvent/groupEnded`` and ``HookEvent/allCompleted``.
    ///
    /// With ``Configuration/Storage/remembersSettings``, the call returns after the store has recorded those changed
    /// settings that it can remember.
    ///
    /// The closure runs on the actor of the caller, so it may read the state of that actor:
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
    /// - Parameter change: changes a copy of ``configuration``. It is called again, with the newer settings, when
    ///   another call of this method changed the settings meanwhile.
    /// - Returns: the paths of the settings that `change` changed and that need a new downloader, such as
    ///   `network.cookies`; empty when every change applies.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/shutDown``, and nothing has changed;
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/diskFull`` when the changes apply, but are not
    ///   remembered.
    @discardableResult
    public nonisolated(nonsending) func update(_ change: (inout Configuration) -> Void) async throws(DownloadError)
        -> Set<String>
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

    /// Applies settings, unless other settings were applied since `revision`.
    ///
    /// - Returns: the paths of the fixed settings that were to change; `nil` when other settings were applied first,
    ///   and nothing has changed.
    private func take(_ settings: Configuration, ifStillAt revision: Int) async throws(DownloadError)
        -> Set<String>?
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

    /// Removes all remembered settings from the store; see ``Configuration/Storage/remembersSettings``. The present
    /// settings stay until the downloader is opened again.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    package func forgetSettings() async throws(DownloadError) {
        try checkIsOpen()
        try await store.forgetSettings()
    }
}
