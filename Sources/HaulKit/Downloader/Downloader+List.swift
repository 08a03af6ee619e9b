/// Asking what downloads there are.
extension Downloader {
    /// A page of downloads, in the order that the query names; all of them in the order of adding when it names none.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed``.
    public func list(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> [DownloadSnapshot] {
        snapshots(of: try await store.list(condition(query)))
    }

    /// How many downloads a query finds; its page is not regarded.
    public func count(_ query: DownloadQuery = DownloadQuery()) async throws(DownloadError) -> Int {
        try await store.count(condition(query))
    }

    func condition(_ query: DownloadQuery) -> StoreCondition {
        StoreCondition(query, live: query.states == nil ? [:] : live)
    }

    /// The downloads that do something now, and what.
    private var live: [DownloadID: DownloadSnapshot.State] {
        let now = time.now()
        return queue.running.reduce(into: [:]) { states, id in
            guard let state = entries[id]?.snapshot(at: now).state, state != .queued else { return }
            states[id] = state
        }
    }

    /// What is in memory knows better than its row.
    func snapshots(of rows: [DownloadStore.Listed]) -> [DownloadSnapshot] {
        let now = time.now()
        return rows.map { row in
            entries[row.id]?.snapshot(at: now)
                ?? DownloadSnapshot(row.id, row.record, receivedBytes: row.received)
        }
    }
}
