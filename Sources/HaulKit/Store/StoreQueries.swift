internal import Foundation
internal import GRDB

/// Asking for many downloads at once, and changing many, without having each in memory.
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

    /// The rows that can be read, and how many there are with those that cannot: a caller that asks page by page continues behind all of
    /// them.
    func page(_ condition: StoreCondition) async throws(DownloadError) -> (rows: [Listed], count: Int) {
        try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, odd in
                let order = condition.order.isEmpty ? "download.rowid" : condition.order
                // Of the pages before it nothing but the place is read.
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

    /// The newest download of one of these URLs, as they were asked for.
    func newest(ofURLs urls: [String]) async throws(DownloadError) -> DownloadID? {
        var condition = StoreCondition()
        condition.add(isIn: urls, "url")
        condition.order = "createdAt DESC, download.rowid DESC"
        condition.page = " LIMIT 1"
        return try await ids(condition).first
    }

    /// Changes many rows in one durable transaction.
    ///
    /// - Parameter assignments: SQL that names no outside value.
    /// - Returns: how many rows there were.
    @discardableResult
    func change(_ assignments: String, _ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await writing { database in
            let sql = "UPDATE download SET \(assignments) WHERE \(condition.sql)"
            // With many rows it takes less time to make this index anew than to change it for each of them.
            let isBulk = try Self.isBulk(condition, database)
            if isBulk { try database.execute(sql: "DROP INDEX download_open_by_group") }
            try database.execute(sql: sql, arguments: condition.bound)
            let count = database.changesCount
            if isBulk { try database.execute(sql: Schema.openByGroup) }
            return count
        }
    }

    /// Whether a hundred thousand rows match.
    private static func isBulk(_ condition: StoreCondition, _ database: Database) throws -> Bool {
        guard !condition.namesRows else { return false }
        let offset = 100_000
        let sql = "SELECT 1 FROM download WHERE \(condition.sql) LIMIT 1 OFFSET \(offset)"
        return try Int.fetchOne(database, sql: sql, arguments: condition.bound) != nil
    }

    /// Forgets many downloads.
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

    /// The place behind every other.
    func lastPosition() async throws(DownloadError) -> Int64 {
        try await reading { database in
            // One that was put there by hand must leave a gap behind it.
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

    /// The downloads with these ids, as far as there are any.
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

    /// - Returns: what `read` makes of the store with everything that was noted before.
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
                // It cannot fail where the line above did not; and a store that stays in FULL is merely slower.
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
