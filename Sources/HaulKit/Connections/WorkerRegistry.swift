internal import Synchronization

/// The present workers of each download. Goes with its downloader, and closes them all then: without it a downloader that
/// was let go of without being shut down would leave its connections and locks behind.
final class WorkerRegistry: Sendable {
    private let workers = Mutex<[DownloadID: [DownloadMachine.ConnectionID: SegmentWorker]]>([:])

    deinit {
        for worker in workers.withLock({ $0.values.flatMap(\.values) }) { worker.close() }
    }

    func add(_ worker: SegmentWorker, of id: DownloadID) {
        workers.withLock { $0[id, default: [:]][worker.id] = worker }
    }

    func remove(_ connection: DownloadMachine.ConnectionID, of id: DownloadID) {
        workers.withLock { workers in
            workers[id]?[connection] = nil
            if workers[id]?.isEmpty == true { workers[id] = nil }
        }
    }

    func removeAll(of id: DownloadID) {
        workers.withLock { $0[id] = nil }
    }
}
