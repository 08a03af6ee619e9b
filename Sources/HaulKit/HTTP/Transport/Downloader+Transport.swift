internal import Logging
internal import NIOPosix

extension Downloader {
    /// A downloader over another network than the system's. Its store is in memory, its files are on the disk.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed``.
    package init(_ configuration: Configuration, over transport: any Transport, time: EngineClock)
        async throws(DownloadError)
    {
        let disk = PosixDisk()
        let logger = configuration.telemetry.logger
        let store = DownloadStore(try StoreFile.inMemory(), path: ":memory:", bootID: disk.bootID) { event in
            if case .failed(let error) = event { logger.debug("store: \(error)") }
        }
        _ = MultiThreadedEventLoopGroup.singleton
        try await self.init(configuration, transport: transport, disk: disk, store: store, time: time, seed: 1)
    }
}
