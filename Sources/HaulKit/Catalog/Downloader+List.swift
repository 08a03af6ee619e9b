internal import Foundation

/// Asking what downloads there are.
extension Downloader {
    /// A page of downloads, in the order that the query names; all of them in the order of adding when it names none.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``, as all of
    ///   these calls.
    public func list(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> [DownloadSnapshot] {
        try checkIsOpen()
        return snapshots(of: try await store.list(condition(query)))
    }

    /// How many downloads a query finds; its page is not regarded.
    public func count(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> Int {
        try checkIsOpen()
        return try await store.count(condition(query))
    }

    func condition(_ query: DownloadQuery) -> StoreCondition {
        StoreCondition(query, live: query.states == nil ? [:] : live)
    }

    /// The downloads that do something now, and what.
    private var live: [DownloadID: DownloadSnapshot.State] {
        let now = time.now()
        return queue.running.reduce(into: [:]) { states, id in
            guard let state = tasks[id]?.snapshot(at: now).state, state != .queued else { return }
            states[id] = state
        }
    }

    /// What is in memory knows better than its row.
    func snapshots(of rows: [DownloadStore.Listed]) -> [DownloadSnapshot] {
        let now = time.now()
        return rows.map { row in
            if let task = tasks[row.id] { return snapshot(of: task, at: now) }
            return stored(DownloadSnapshot(row.id, row.record, receivedBytes: row.received), row.record.host)
        }
    }

    func snapshot(of task: DownloadTask, at now: Instant? = nil) -> DownloadSnapshot {
        withReason(task.snapshot(at: now ?? time.now()), task.record.host)
    }

    /// The snapshot of a row, which may be one that another process runs.
    func stored(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        queue.waits(snapshot.id) ? withReason(snapshot, host) : snapshot
    }

    /// The same, with what keeps it from being started.
    func withReason(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        guard snapshot.state == .queued else { return snapshot }
        var snapshot = snapshot
        snapshot.holdReason = conditions.reason(forHost: host ?? "")
        return snapshot
    }
}

extension DownloadSnapshot {
    /// As records have it.
    var host: String? { url.host?.lowercased() }
}
