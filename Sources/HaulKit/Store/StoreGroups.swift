internal import GRDB

/// Queries and deletes rows with their groups.
extension DownloadStore {
    /// Number of selected downloads in a group. `open` counts those that wait, run, or will resume by themselves.
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
