internal import OrderedCollections
internal import Synchronization

/// The open workers of each download. The registry is released with its downloader and then closes all workers.
/// Otherwise a downloader that is released without a shutdown would leave its connections and locks behind.
final class WorkerRegistry: Sendable {
    private struct State {
        var workers: [DownloadID: [DownloadMachine.ConnectionID: SegmentWorker]] = [:]
        /// The downloads with more than one worker.
        var sharing: OrderedSet<DownloadID> = []
        /// Number of all workers.
        var count = 0

        mutating func change(
            _ id: DownloadID,
            _ change: (inout [DownloadMachine.ConnectionID: SegmentWorker]) -> Void
        ) {
            let before = workers[id]?.count ?? 0
            change(&workers[id, default: [:]])
            let now = workers[id]?.count ?? 0
            count += now - before
            if now == 0 { workers[id] = nil }
            if now > 1 { sharing.append(id) } else { sharing.remove(id) }
        }
    }
    private let state = Mutex(State())

    deinit {
        for worker in state.withLock({ $0.workers.values.flatMap(\.values) }) { worker.close() }
    }

    /// The downloads that have more than one worker, in the order in which they got their second one.
    var sharing: [DownloadID] { state.withLock { Array($0.sharing) } }

    /// Number of additional workers: of all except the first of each download.
    var additional: Int { state.withLock { $0.count - $0.workers.count } }

    func add(_ worker: SegmentWorker, of id: DownloadID) {
        state.withLock { $0.change(id) { $0[worker.id] = worker } }
    }

    func remove(_ connection: DownloadMachine.ConnectionID, of id: DownloadID) {
        state.withLock { $0.change(id) { $0[connection] = nil } }
    }

    func removeAll(of id: DownloadID) {
        state.withLock { $0.change(id) { $0 = [:] } }
    }
}
