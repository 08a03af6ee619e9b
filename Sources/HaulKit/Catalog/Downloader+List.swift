internal import Foundation

/// Listing and counting downloads.
extension Downloader {
    /// A page of downloads, in the order of the query; by default all downloads, in the order of adding.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func list(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> [DownloadSnapshot] {
        try checkIsOpen()
        return snapshots(of: try await store.list(condition(query)))
    }

    /// The number of downloads that match a query; its offset and limit are ignored.
    ///
    /// - Throws: as ``list(_:)``.
    public func count(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> Int {
        try checkIsOpen()
        return try await store.count(condition(query))
    }

    func condition(_ query: DownloadQuery) -> StoreCondition {
        StoreCondition(query, live: query.states == nil ? [:] : live)
    }

    /// The running downloads and their states.
    private var live: [DownloadID: DownloadSnapshot.State] {
        let now = time.now()
        return queue.running.reduce(into: [:]) { states, id in
            guard let state = tasks[id]?.snapshot(at: now).state, state != .queued else { return }
            states[id] = state
        }
    }

    /// In-memory state overrides the stored row.
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

    /// The snapshot of a stored row; another process may run the download.
    func stored(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        queue.waits(snapshot.id) ? withReason(snapshot, host) : snapshot
    }

    /// The same, with the reason why it cannot start.
    func withReason(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        guard snapshot.state == .queued else { return snapshot }
        var snapshot = snapshot
        snapshot.holdReason = conditions.reason(forHost: host ?? "")
        return snapshot
    }
}

extension DownloadSnapshot {
    /// The host, as records store it.
    var host: String? { url.host?.lowercased() }
}
