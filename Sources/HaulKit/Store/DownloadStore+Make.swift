internal import Logging

extension DownloadStore {
    /// Opens the store of a downloader. May wait for another process.
    static func make(for storage: Downloader.Configuration.Storage, bootID: String, _ logger: Logger)
        async throws(DownloadError) -> DownloadStore
    {
        let contention = StoreContention(onWait: { path in
            logger.debug("store: another program keeps \(path) locked")
            storage.onStoreWait?(path)
        })
        return try await BlockingExecutor.waiting.run { () throws(DownloadError) in
            if storage.isInMemory { return try DownloadStore.inMemory(bootID: bootID, logger) }
            return try DownloadStore(
                folder: storage.stateFolder,
                name: storage.name,
                isExclusive: storage.restoration == .everything,
                bootID: bootID,
                movingRoot: storage.movingRoot,
                contention: contention,
                observer: { event in
                    if case .failed(let error) = event { logger.debug("store: \(error)") }
                },
                onChange: { error in
                    logger.debug("store: \(error.map { "\($0)" } ?? "there is space again")")
                    storage.onStoreChange?(error)
                },
                onOddRow: { name in
                    logger.debug("store: a row cannot be read: \(name)")
                    storage.onOddRow?(name)
                }
            )
        }
    }
}
