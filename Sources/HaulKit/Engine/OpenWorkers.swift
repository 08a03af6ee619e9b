internal import Synchronization

/// The present worker of each download. Goes with its downloader, and closes them all then: without it a downloader that
/// was let go of without being shut down would leave its connections and locks behind.
final class OpenWorkers: Sendable {
    private let workers = Mutex<[DownloadID: SegmentWorker]>([:])

    deinit {
        for worker in workers.withLock({ Array($0.values) }) { worker.close() }
    }

    func set(_ worker: SegmentWorker?, of id: DownloadID) {
        workers.withLock { $0[id] = worker }
    }
}
