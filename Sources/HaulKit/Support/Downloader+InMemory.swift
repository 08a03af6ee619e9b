internal import Logging
internal import NIOPosix

extension Downloader {
    /// Makes a downloader for tests and previews, with its store in memory and `readers` in place of the system's
    /// network. The files are on the disk.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed``.
    package init(inMemory configuration: Configuration, over readers: SourceReaders, time: EngineClock)
        async throws(DownloadError)
    {
        let disk = PosixDisk()
        let store = try DownloadStore.inMemory(bootID: disk.bootID, configuration.telemetry.logger)
        _ = MultiThreadedEventLoopGroup.singleton
        try await self.init(configuration, readers: readers, disk: disk, store: store, time: time, seed: 1)
    }
}

extension DownloadStore {
    /// Makes an empty store in memory, which ends with its downloader.
    static func inMemory(bootID: String, _ logger: Logger) throws(DownloadError) -> DownloadStore {
        DownloadStore(try StoreFile.inMemory(), path: ":memory:", bootID: bootID) { event in
            if case .failed(let error) = event { logger.debug("store: \(error)") }
        }
    }
}
