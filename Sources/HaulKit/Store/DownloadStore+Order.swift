internal import GRDB

/// Reads and changes the stored order of the queue.
extension DownloadStore {
    struct PlaceRow: Sendable {
        let id: DownloadID
        let priority: Int
        let position: Int64
    }

    /// Returns the places of the downloads `ids`; of all downloads if `ids` is `nil`.
    func places(_ ids: [DownloadID]?) async throws(DownloadError) -> [PlaceRow] {
        let condition = ids.map { StoreCondition.ids($0) } ?? .all
        return try await reading { database in
            try Row.fetchAll(
                database,
                sql: "SELECT id, priority, position FROM download WHERE \(condition.sql)",
                arguments: condition.bound
            ).compactMap { row in
                // Skips a row with an odd value.
                try? Self.place(row)
            }
        }
    }

    private static func place(_ row: Row) throws(OddValue) -> PlaceRow? {
        guard let id = DownloadID(try row.required(0)) else { return nil }
        return PlaceRow(id: id, priority: try row.required(1), position: try row.required(2))
    }

    /// Returns the highest position below 2^61; 0 if there is none.
    func lastPosition() async throws(DownloadError) -> Int64 {
        try await reading { database in
            // Ignores a position that somebody set so high that no free position follows.
            try Int64.fetchOne(
                database.cachedStatement(
                    sql: """
                        SELECT max(position) FROM download
                        WHERE typeof(position) = 'integer' AND position < 2305843009213693952
                        """
                )
            ) ?? 0
        }
    }

    /// Returns the bounds of the free positions at `place`; `nil` if `place` names an unknown download, or one whose
    /// position is implausible.
    func gap(at place: Downloader.Place, besides ids: [DownloadID]) async throws(DownloadError) -> (
        lower: Int64, upper: Int64
    )? {
        var others = StoreCondition()
        others.add(besides: ids)
        let condition = others
        let step = DownloadCatalog.positionStep * Int64(ids.count + 1)
        let plausible = "typeof(position) = 'integer' AND position BETWEEN -2305843009213693951 AND 2305843009213693951"
        return try await reading { database in
            func position(_ what: String, _ more: String = "1") throws -> Int64? {
                try Int64.fetchOne(
                    database,
                    sql: "SELECT \(what)(position) FROM download WHERE \(condition.sql) AND \(plausible) AND \(more)",
                    arguments: condition.bound
                )
            }
            func own(_ id: DownloadID) throws -> Int64? {
                try Int64.fetchOne(
                    database,
                    sql: "SELECT position FROM download WHERE id = ? AND \(plausible)",
                    arguments: [id.description]
                )
            }
            switch place {
            case .first:
                let first = try position("min") ?? 0
                return (first - step, first)
            case .last:
                let last = try position("max") ?? 0
                return (last, last + step)
            case .before(let id):
                guard let upper = try own(id) else { return nil }
                return (try position("max", "position < \(upper)") ?? upper - step, upper)
            case .after(let id):
                guard let lower = try own(id) else { return nil }
                return (lower, try position("min", "position > \(lower)") ?? lower + step)
            }
        }
    }

    /// Gives the downloads `ids` the positions `first`, `first + step` and so on, in one transaction.
    func place(_ ids: [DownloadID], from first: Int64, by step: Int64) async throws(DownloadError) {
        try await writing { database in
            for (index, id) in ids.enumerated() {
                try database.execute(
                    sql: "UPDATE download SET position = ? WHERE id = ?",
                    arguments: [first + step * Int64(index), id.description]
                )
            }
        }
    }

    /// Renumbers all positions in their order, with gaps of `step` between them.
    func spread(_ step: Int64) async throws(DownloadError) { try await spread(step, orderedBy: "position, rowid") }

    /// Gives all downloads new positions in the `order` of a condition, with gaps of `step` between them. Ignores the
    /// rest of the condition.
    func spread(_ step: Int64, by condition: StoreCondition) async throws(DownloadError) {
        try await spread(step, orderedBy: condition.order)
    }

    /// - Parameter order: SQL that contains no outside value.
    private func spread(_ step: Int64, orderedBy order: String) async throws(DownloadError) {
        try await writing { database in
            try database.execute(
                sql: """
                    UPDATE download SET position = place.number * \(step)
                    FROM (SELECT id, row_number() OVER (ORDER BY \(order)) AS number FROM download) AS place
                    WHERE download.id = place.id
                    """
            )
        }
    }
}

/// Reads the waiting downloads for the queue. There may be a million.
extension DownloadStore {
    struct WaitingPage: Sendable {
        var items: [DownloadQueue.Item] = []
        /// Rowid of the last row that was read; `nil` if no row was left to read.
        var last: Int64?
    }

    /// Counts the waiting downloads that match a condition.
    ///
    /// - Returns: `nil` unless the count is above `least` and above an eighth of all downloads. For a smaller count,
    ///   reading in the order of the queue would visit too many rows that do not wait.
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

    /// Returns the waiting downloads of these groups that a sync has added.
    func waitingOfSets(in groups: Set<String>) async throws(DownloadError) -> [DownloadID] {
        var found: [DownloadID] = []
        for group in groups {
            var condition = StoreCondition(.group(group), live: [:])
            condition.add("key >= 'sync ' AND key < 'sync!'")
            found += try await queueItems(condition).map(\.id)
        }
        return found
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
            // Shares one text among all rows of a host: many rows name only a few hosts, and neighbouring rows often
            // name the same one.
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
