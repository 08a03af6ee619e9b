internal import Foundation
internal import GRDB

/// Changes the rows of many downloads at once.
extension DownloadStore {
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

    /// Deletes the rows of the matching downloads, and returns their number.
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

    /// Pauses the matching downloads and ends their holds, so that none waits for disk space any more.
    ///
    /// - Returns: the number of matching downloads.
    func pause(_ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await change("status = 'paused', hold = NULL, error = NULL", condition)
    }

    /// Queues the matching downloads again and clears hold, error and end date.
    ///
    /// - Returns: the number of matching downloads.
    func requeue(_ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await change("status = 'queued', hold = NULL, error = NULL, finishedAt = NULL", condition)
    }

    /// Ends the holds of the downloads `ids` and queues them again. Includes rows that are queued, because on a full
    /// disk the store may have missed the hold.
    func endHolds(of ids: [DownloadID]) async throws(DownloadError) {
        try await change("status = 'queued', hold = NULL, error = NULL", .ids(ids).onlyQueuedOrHeld())
    }

    /// Queues all held downloads again.
    func endAllHolds() async throws(DownloadError) {
        var held = StoreCondition()
        held.add("status = 'paused' AND hold IS NOT NULL")
        try await change("status = 'queued', hold = NULL, error = NULL", held)
    }

    /// Pauses all queued downloads as a user does: without a hold, so that they do not continue by themselves.
    func pauseAllQueued() async throws(DownloadError) {
        try await change("status = 'paused'", StoreCondition().only([.queued]))
    }

    func setPriority(_ priority: Int, of ids: [DownloadID]) async throws(DownloadError) {
        try await change("priority = \(priority)", .ids(ids))
    }

    func writing<Value: Sendable>(_ write: @escaping @Sendable (Database) throws -> Value)
        async throws(DownloadError) -> Value
    {
        try await onWriter { store in
            // Writes the notes first, because a note that is written later would undo this change.
            if let failure = store.writeGathered() { throw failure }
            try store.file.health.checkIsThere()
            return try store.file.queue.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
                // A failure does no harm, because a store that stays in FULL mode is only slower.
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

/// Queries and deletes rows with their groups.
extension DownloadStore {
    /// Number of selected downloads in a group. `open` is the number of selected downloads that wait, run, or will
    /// resume by themselves.
    struct GroupShare: Sendable, Equatable {
        let group: String
        let count: Int
        let open: Int
    }

    func shares(of groups: Set<String>, _ condition: StoreCondition) async throws(DownloadError) -> [GroupShare] {
        var condition = condition
        condition.add(isIn: groups.sorted(), "groupName")
        let selected = condition
        return try await reading { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT groupName, count(*) AS n, total(status = 'queued' OR hold IS NOT NULL) AS open FROM download
                    WHERE \(selected.sql) GROUP BY groupName
                    """,
                arguments: selected.bound
            ).compactMap { row in
                Self.group(row, "groupName").map {
                    GroupShare(group: $0, count: Int(row.sum("n")), open: Int(row.sum("open")))
                }
            }
        }
    }

    /// Deletes downloads and returns their ids and groups.
    func removeAndList(_ condition: StoreCondition) async throws(DownloadError) -> [(id: DownloadID, group: String?)] {
        try await writing { database in
            try Row.fetchAll(
                database,
                sql: "DELETE FROM download WHERE \(condition.sql) RETURNING id, groupName",
                arguments: condition.bound
            ).compactMap { row in
                let stored: DatabaseValue = row["id"] ?? .null
                // A row that was edited by hand may have no valid id. No task has such a row.
                guard let id = String.fromDatabaseValue(stored).flatMap({ DownloadID($0) }) else { return nil }
                return (id, Self.group(row, "groupName"))
            }
        }
    }

    private static func group(_ row: Row, _ column: String) -> String? {
        let stored: DatabaseValue = row[column] ?? .null
        return String.fromDatabaseValue(stored)
    }
}
