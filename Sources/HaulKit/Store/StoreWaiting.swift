internal import GRDB

/// Reads the waiting downloads for the queue. There may be a million.
extension DownloadStore {
    struct WaitingPage: Sendable {
        var items: [DownloadQueue.Item] = []
        /// Rowid of the last row that was read; `nil` if there are no more rows.
        var last: Int64?
    }

    /// Counts the waiting downloads that match a condition.
    ///
    /// - Returns: `nil` unless the count is above `least` and above an eighth of all downloads.
    func waitingCount(_ condition: StoreCondition, above least: Int) async throws(DownloadError) -> Int? {
        let waiting = Self.waiting(condition)
        return try await reading { database in
            let count = try Int.fetchOne(
                database,
                sql: "SELECT count(*) FROM download WHERE \(waiting.sql)",
                arguments: waiting.bound
            )
            guard let count, count > least else { return nil }
            let all = try Int.fetchOne(database, sql: "SELECT count(*) FROM download")
            return count > (all ?? 0) / 8 ? count : nil
        }
    }

    /// Returns all waiting downloads that match a condition.
    func queueItems(_ condition: StoreCondition) async throws(DownloadError) -> [DownloadQueue.Item] {
        try await read(Self.waiting(condition), "").items
    }

    /// Returns the first matching waiting downloads in the order of the queue.
    func firstWaiting(_ condition: StoreCondition, limit: Int) async throws(DownloadError) -> [DownloadQueue.Item] {
        var waiting = condition
        // The plus makes SQLite follow the index of the order instead of sorting all waiting rows.
        waiting.add("+status = 'queued'")
        return try await read(waiting, " ORDER BY priority DESC, position LIMIT \(limit)").items
    }

    /// Returns the matching waiting downloads behind the rowid `row`, in the order of rowids.
    func waiting(_ condition: StoreCondition, after row: Int64, limit: Int) async throws(DownloadError) -> WaitingPage {
        var rest = Self.waiting(condition)
        rest.add("download.rowid > \(row)")
        return try await read(rest, " ORDER BY download.rowid LIMIT \(limit)")
    }

    private static func waiting(_ condition: StoreCondition) -> StoreCondition {
        var waiting = condition
        waiting.add("status = 'queued'")
        return waiting
    }

    private func read(_ waiting: StoreCondition, _ page: String) async throws(DownloadError) -> WaitingPage {
        try await reading { database in
            var statement = try BoundStatement(
                "SELECT id, host, priority, position, download.rowid FROM download WHERE \(waiting.sql)\(page)",
                database
            )
            for argument in waiting.arguments { statement.bind(argument) }
            var page = WaitingPage()
            // Shares the text of equal hosts: few hosts have many downloads, and neighbouring rows often have the same
            // host.
            var hosts: [String: String] = [:]
            var host = ""
            try statement.forEach { row in
                page.last = row.integer(4)
                // A row with an odd value is reported when its download is read.
                guard let id = row.withText(0, DownloadID.init(utf8:)) ?? nil, let priority = row.integer(2),
                    let position = row.integer(3)
                else { return }
                let isSameHost = row.withText(1) { host.utf8.elementsEqual($0) } ?? host.isEmpty
                if !isSameHost {
                    let name = row.withText(1) { String(decoding: $0, as: UTF8.self) } ?? ""
                    host = hosts[name] ?? name
                    hosts[host] = host
                }
                page.items.append(.init(id: id, host: host, priority: Int(priority), position: position))
            }
            return page
        }
    }
}
