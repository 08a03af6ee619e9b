internal import Foundation
internal import GRDB

/// Queries and changes many downloads at once, without loading each into memory.
extension DownloadStore {
    /// A row as lists show it.
    struct Listed: Sendable {
        let id: DownloadID
        let record: DownloadRecord
        let received: Int64
    }

    func list(_ condition: StoreCondition) async throws(DownloadError) -> [Listed] {
        try await page(condition).rows
    }

    /// Returns the readable rows, and the count of all rows including unreadable ones. A caller that reads page by page
    /// continues behind all of them.
    func page(_ condition: StoreCondition) async throws(DownloadError) -> (rows: [Listed], count: Int) {
        try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, odd in
                let order = condition.order.isEmpty ? "download.rowid" : condition.order
                // SQLite reads only the order and the rowid of rows on earlier pages.
                let rows =
                    condition.page.isEmpty
                    ? condition.sql
                    : "download.rowid IN (SELECT rowid FROM download WHERE \(condition.sql) ORDER BY \(order)\(condition.page))"
                let sql = """
                    SELECT \(OddRows.columns), progress.received AS received FROM download
                    LEFT JOIN progress ON progress.downloadID = download.id
                    WHERE \(rows) ORDER BY \(order)
                    """
                // A row that a later version wrote, or somebody edited, must not hide the others.
                let all = try Row.fetchAll(database, sql: sql, arguments: condition.bound)
                let readable = all.compactMap { row -> Listed? in
                    guard let record = odd.record(row), let id = DownloadID(record.id) else { return nil }
                    return Listed(id: id, record: record, received: max(0, row.sum("received")))
                }
                return (readable, all.count)
            }
        }
    }

    func count(_ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await reading { database in
            try Int.fetchOne(
                database,
                sql: "SELECT count(*) FROM download WHERE \(condition.sql)",
                arguments: condition.bound
            ) ?? 0
        }
    }

    func ids(_ condition: StoreCondition) async throws(DownloadError) -> [DownloadID] {
        try await reading { database in
            let order = condition.order.isEmpty ? "download.rowid" : condition.order
            return try DatabaseValue.fetchAll(
                database,
                sql: "SELECT id FROM download WHERE \(condition.sql) ORDER BY \(order)\(condition.page)",
                arguments: condition.bound
            ).compactMap { String.fromDatabaseValue($0).flatMap { DownloadID($0) } }
        }
    }

    /// Returns the newest download that was requested with one of these URLs.
    func newest(ofURLs urls: [String]) async throws(DownloadError) -> DownloadID? {
        var condition = StoreCondition()
        condition.add(isIn: urls, "url")
        condition.order = "createdAt DESC, download.rowid DESC"
        condition.page = " LIMIT 1"
        return try await ids(condition).first
    }

    /// Changes many rows in one durable transaction.
    ///
    /// - Parameter assignments: SQL that contains no outside value.
    /// - Returns: the number of changed rows.
    @discardableResult
    func change(_ assignments: String, _ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await writing { database in
            let sql = "UPDATE download SET \(assignments) WHERE \(condition.sql)"
            // For many rows, rebuilding this index takes less time than changing it for each row.
            let isBulk = try Self.isBulk(condition, database)
            if isBulk { try database.execute(sql: "DROP INDEX download_open_by_group") }
            try database.execute(sql: sql, arguments: condition.bound)
            let count = database.changesCount
            if isBulk { try database.execute(sql: Schema.openByGroup) }
            return count
        }
    }

    /// Whether more than 100,000 rows match; `false` for a condition that lists ids.
    private static func isBulk(_ condition: StoreCondition, _ database: Database) throws -> Bool {
        guard !condition.namesRows else { return false }
        let offset = 100_000
        let sql = "SELECT 1 FROM download WHERE \(condition.sql) LIMIT 1 OFFSET \(offset)"
        return try Int.fetchOne(database, sql: sql, arguments: condition.bound) != nil
    }

    /// Deletes many downloads.
    @discardableResult
    func remove(_ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await writing { database in
            try database.execute(
                sql: "DELETE FROM download WHERE \(condition.sql)",
                arguments: condition.bound
            )
            return database.changesCount
        }
    }

    /// Returns the highest position, ignoring those from 2^61 on.
    func lastPosition() async throws(DownloadError) -> Int64 {
        try await reading { database in
            // Such a position was edited by hand and leaves no gap behind it.
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

    /// Returns the downloads with these ids, except unknown and unreadable ones.
    func find(ids: [DownloadID]) async throws(DownloadError) -> [Saved] {
        let condition = StoreCondition.ids(ids)
        return try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, odd in
                let rows = try Row.fetchCursor(
                    database,
                    sql: "\(RowReader.sql) WHERE \(condition.sql)",
                    arguments: condition.bound
                )
                var reader = RowReader()
                var all: [Saved] = []
                while let row = try rows.next() {
                    if let saved = try reader.saved(row, database, &odd) { all.append(saved) }
                }
                return all
            }
        }
    }

    /// Writes noted changes, then calls `read` in one transaction.
    func reading<Value: Sendable>(_ read: @escaping @Sendable (Database) throws -> Value)
        async throws(DownloadError) -> Value
    {
        try await onWriter { store in
            store.writeGathered()
            return try store.file.look(read)
        }
    }

    func writing<Value: Sendable>(_ write: @escaping @Sendable (Database) throws -> Value)
        async throws(DownloadError) -> Value
    {
        try await onWriter { store in
            store.writeGathered()
            try store.file.health.checkIsThere()
            return try store.file.queue.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
                // The statement cannot fail if the line above did not. A store that stays in FULL mode is only slower.
                defer { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
                var value: Value?
                try database.inTransaction {
                    value = try write(database)
                    return .commit
                }
                guard let value else { throw DownloadError(.storeFailed, "The store did not do what it was asked.") }
                return value
            }
        }
    }
}
