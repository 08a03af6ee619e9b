internal import Foundation

/// Lists and sums downloads from rows of the store. State in memory overrides the rows.
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

    func condition(_ filter: DownloadFilter) -> StoreCondition {
        StoreCondition(filter, live: filter.states == nil ? [:] : live, measures: measures(for: filter.order))
    }

    /// Replaces the predicate of a filter by the ids of the matching downloads. Calls the predicate for each download
    /// that matches the other conditions of `filter`.
    func resolved(_ filter: DownloadFilter, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadFilter
    {
        guard let isWanted = filter.predicate else { return filter }
        var (rest, ids) = (filter, Set<DownloadID>())
        (rest.predicate, rest.order, rest.isDescending, rest.offset, rest.limit) = (
            nil, .added, false, 0, Self.pageSize
        )
        while true {
            let page = try await environment.services.store.page(condition(rest))
            ids.formUnion(snapshots(of: page.rows).filter(isWanted).map(\.id))
            rest.offset += page.count
            if page.count < Self.pageSize { break }
        }
        return DownloadFilter(
            ids: ids,
            order: filter.order,
            isDescending: filter.isDescending,
            offset: filter.offset,
            limit: filter.limit
        )
    }

    private static let pageSize = 1000

    /// States of the downloads that run or back off, because their rows only record `queued`. Leaves out downloads
    /// whose state is `queued`.
    private var live: [DownloadID: DownloadSnapshot.State] {
        let now = time.now()
        return scheduler.runningOrBackingOff.reduce(into: [:]) { states, task in
            let state = task.snapshot(at: now).state
            if state != .queued { states[task.id] = state }
        }
    }

    /// Returns the value that `order` compares for each running download: speed in bytes per second, or time left in
    /// seconds. Empty if `order` compares stored values.
    func measures(for order: DownloadFilter.Order) -> [DownloadID: Double] {
        let now = time.now()
        var measures: [DownloadID: Double] = [:]
        switch order {
        case .added, .queue, .ended, .path, .size: break
        case .speed: for task in scheduler.running { measures[task.id] = task.snapshot(at: now).bytesPerSecond }
        case .timeLeft:
            for task in scheduler.running {
                measures[task.id] = task.snapshot(at: now).timeLeft.map { Double($0.components.seconds) }
            }
        }
        return measures
    }

    /// Returns the snapshots of stored rows. State in memory overrides a row.
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

    /// Returns number, bytes and progress of the downloads that match a filter. The speed is the sum over the running
    /// downloads that match the group, owner, ids and predicate of the filter.
    func sum(_ filter: DownloadFilter = .all, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
        -> DownloadSummary
    {
        let found = try await resolved(filter)
        var summary = try await environment.services.store.summary(condition(found))
        let now = time.now()
        for task in scheduler.running
        where (filter.group == nil || task.record.request.group == filter.group)
            && (filter.owner == nil || task.record.request.owner == filter.owner)
            && (found.ids?.contains(task.id) ?? true)
        {
            summary.bytesPerSecond += task.snapshot(at: now).bytesPerSecond
        }
        return summary
    }
}

extension DownloadSnapshot {
    /// The host in lowercase, as records store it.
    var host: String? { url.host?.lowercased() }

    /// Whether the download waits, runs, or is held and will go on by itself.
    var isUnderWay: Bool {
        state == .paused ? holdReason != nil : !state.hasEnded
    }
}
