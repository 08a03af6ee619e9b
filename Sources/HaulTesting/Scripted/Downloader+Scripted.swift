public import HaulKit

extension Downloader {
    /// Makes a downloader whose requests are answered from a script. No socket is opened; everything else is real.
    ///
    /// The store is in memory and begins empty. Files are written to the destinations of the requests, for instance in
    /// ``DownloadScript/folder``. Differences from the default configuration: one connection per download, no further
    /// attempt after a failure, reports of progress every 20 ms, a network that is always online, no waiting for disk
    /// space.
    ///
    /// - Parameters:
    ///   - script: the responses. More can be added later.
    ///   - clock: the clock for delays, timetables, links that expire, and ``ScriptedResponse/inSteps(_:every:)``;
    ///     `nil` for real time. Progress is reported in real time even with a manual clock.
    ///   - configure: changes the configuration. ``HaulKit/Downloader/Configuration/Storage/stateFolder`` and the
    ///     settings of connections have no effect.
    /// - Throws: ``HaulKit/DownloadError`` with code ``HaulKit/DownloadError/Code/storeFailed``.
    public static func scripted(
        _ script: DownloadScript,
        clock: ManualClock? = nil,
        configure: (inout Downloader.Configuration) -> Void = { _ in }
    ) async throws(DownloadError) -> Downloader {
        var configuration = Downloader.Configuration(stateFolder: script.folder)
        configuration.connections.maxPerDownload = 1
        configuration.retry.attempts = 0
        configuration.retry.attemptsBeforeFirstAnswer = 0
        configuration.storage.progressInterval = .milliseconds(20)
        configuration.network.monitor = ScriptedNetworkMonitor()
        configuration.storage.waitsForSpace = false
        configure(&configuration)
        guard let clock else {
            return try await Downloader(
                inMemory: configuration,
                over: SourceReaders(ScriptedTransport(script, ContinuousClock())),
                time: EngineClock(ContinuousClock())
            )
        }
        return try await Downloader(
            inMemory: configuration,
            over: SourceReaders(ScriptedTransport(script, clock)),
            time: EngineClock(clock, ticks: ContinuousClock()) { clock.date }
        )
    }

    /// Makes a scripted downloader with a script that `write` fills, for previews and for tests without steps.
    ///
    /// ```swift
    /// let downloader = try await Downloader.scripted { script in
    ///     try script.respond(to: "https://example.org/a", with: .data(bytes).inSteps(20, every: .milliseconds(100)))
    /// }
    /// ```
    ///
    /// - Parameter write: adds responses to an empty script.
    /// - Throws: the errors of ``scripted(_:clock:configure:)`` and of `write`.
    public static func scripted(
        clock: ManualClock? = nil,
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ write: (DownloadScript) throws -> Void
    ) async throws -> Downloader {
        let script = DownloadScript()
        try write(script)
        return try await scripted(script, clock: clock, configure: configure)
    }
}
