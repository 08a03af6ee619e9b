internal import Foundation
internal import GRDB

/// Lists and counts many downloads at once, without making a ``DownloadTask`` for each.
extension DownloadStore {
    /// Record and received bytes of a row, for lists.
    struct Listed: Sendable {
        let id: DownloadID
        let record: DownloadRecord
        let received: Int64
    }

    func list(_ condition: StoreCondition) async throws(DownloadError) -> [Listed] {
        try await page(condition).rows
    }

    /// Returns the readable rows, and the count of all rows including unreadable ones. A caller that reads page by page
    /// needs this count for the offset of the next page.
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
                // Leaves out unreadable rows: a row that a later version wrote, or somebody edited, must not hide the
                // others.
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

    /// Writes noted changes, then calls `read` in one transaction.
    func reading<Value: Sendable>(_ read: @escaping @Sendable (Database) throws -> Value)
        async throws(DownloadError) -> Value
    {
        try await onWriter { store in
            store.writeGathered()
            return try store.file.look(read)
        }
    }
}
