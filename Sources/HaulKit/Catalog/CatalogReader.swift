internal import Foundation

/// Lists and sums: rows of the store, and what is known better in memory.
///
/// Confined to the actor of its downloader.
final class CatalogReader {
    private let environment: TaskEnvironment
    private let scheduler: Scheduler
    private var time: EngineClock { environment.services.time }

    init(_ environment: TaskEnvironment, _ scheduler: Scheduler) {
        self.environment = environment
        self.scheduler = scheduler
    }

    func condition(_ query: DownloadQuery) -> StoreCondition {
        StoreCondition(query, live: query.states == nil ? [:] : live)
    }

    /// The running downloads and their states.
    private var live: [DownloadID: DownloadSnapshot.State] {
        let now = time.now()
        return scheduler.running.reduce(into: [:]) { states, task in
            let state = task.snapshot(at: now).state
            if state != .queued { states[task.id] = state }
        }
    }

    /// In-memory state overrides the stored row.
    func snapshots(of rows: [DownloadStore.Listed]) -> [DownloadSnapshot] {
        let now = time.now()
        return rows.map { row in
            if let task = scheduler.catalog.tasks[row.id] { return task.present(at: now) }
            return scheduler.stored(
                DownloadSnapshot(row.id, row.record, receivedBytes: row.received),
                row.record.host
            )
        }
    }

    /// Number, bytes and progress of the downloads that match a query, with the speed of those of its group and owner.
    func sum(_ query: DownloadQuery = DownloadQuery(), isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
        -> DownloadSummary
    {
        var summary = try await environment.services.store.summary(condition(query))
        let now = time.now()
        for task in scheduler.running
        where (query.group == nil || task.record.request.group == query.group)
            && (query.owner == nil || task.record.request.owner == query.owner)
        {
            summary.bytesPerSecond += task.snapshot(at: now).bytesPerSecond
        }
        return summary
    }
}

extension DownloadSnapshot {
    /// The host, as records store it.
    var host: String? { url.host?.lowercased() }

    /// Waits or runs, or will by itself.
    var isUnderWay: Bool {
        switch state {
        case .queued, .connecting, .transferring, .waiting, .verifying: true
        case .paused: holdReason != nil
        case .completed, .failed, .cancelled: false
        }
    }
}
