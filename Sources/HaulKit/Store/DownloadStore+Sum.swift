internal import Foundation
internal import GRDB

/// Computes sums over downloads in SQLite.
extension DownloadStore {
    private static let sums = """
        count(*) AS n, status, total(CASE status WHEN 'completed' THEN total ELSE received END) AS bytes,
        total(total) AS total, sum(total IS NULL) AS unknown
        FROM download LEFT JOIN progress ON progress.downloadID = download.id
        """

    func summary(_ condition: StoreCondition) async throws(DownloadError) -> DownloadSummary {
        try await reading { database in
            let rows = try Row.fetchAll(
                database,
                sql: "SELECT \(Self.sums) WHERE \(condition.sql) GROUP BY status",
                arguments: condition.bound
            )
            return rows.reduce(into: DownloadSummary()) { $0.add($1) }
        }
    }

    /// Returns a summary of each group, sorted by name. Downloads without a group come first.
    func groups() async throws(DownloadError) -> [GroupSummary] {
        try await reading { database in
            let rows = try Row.fetchAll(
                database,
                sql: "SELECT groupName, \(Self.sums) GROUP BY groupName, status ORDER BY groupName"
            )
            var groups: [(name: String?, summary: DownloadSummary)] = []
            for row in rows {
                // A value that is not text counts as no group.
                let stored: DatabaseValue = row["groupName"] ?? .null
                let name = String.fromDatabaseValue(stored)
                if groups.isEmpty || groups[groups.count - 1].name != name { groups.append((name, DownloadSummary())) }
                groups[groups.count - 1].summary.add(row)
            }
            return groups.map { GroupSummary(group: $0.name, summary: $0.summary) }
        }
    }

    /// Returns downloads of a group that wait, run, or will resume by themselves: at most `limit` queued ones and, if
    /// they are fewer, up to `limit` held ones too.
    func open(group: String, limit: Int) async throws(DownloadError) -> [DownloadID] {
        var open = StoreCondition()
        open.add("groupName = ?", group)
        open.add("status = 'queued'")
        open.page = " LIMIT \(limit)"
        var held = StoreCondition()
        held.add("groupName = ?", group)
        held.add("hold IS NOT NULL")
        held.page = open.page
        let queued = try await ids(open)
        return queued.count < limit ? try await queued + ids(held) : queued
    }
}

extension DownloadSummary {
    fileprivate mutating func add(_ row: Row) {
        let count = Int(row.sum("n"))
        let status: DatabaseValue = row["status"] ?? .null
        switch String.fromDatabaseValue(status) {
        case OddRows.status: return
        case "paused": paused += count
        case "failed": failed += count
        case "completed": completed += count
        default: open += count
        }
        receivedBytes = receivedBytes.addingClamped(row.sum("bytes"))
        knownTotalBytes = knownTotalBytes.addingClamped(row.sum("total"))
        unknownTotals += Int(row.sum("unknown"))
    }
}

/// Computes how many files and bytes the downloads have on the disk.
extension DownloadStore {
    /// Files and bytes that downloads take on the disk.
    struct Sums: Sendable, Equatable {
        var finishedFiles = 0
        var finished: Int64 = 0
        var unfinishedFiles = 0
        /// Includes the space that is set aside for missing bytes.
        var unfinished: Int64 = 0
        var all: Int64 { finished.addingClamped(unfinished) }
    }

    /// Returns the files and bytes of all downloads according to their records.
    ///
    /// - Parameter ids: downloads that do not count.
    func storedBytes(besides ids: [DownloadID] = []) async throws(DownloadError) -> Sums {
        var condition = StoreCondition()
        if !ids.isEmpty { condition.add(besides: ids) }
        let (where_, arguments) = (condition.sql, condition.bound)
        return try await reading { database in
            // Counts unfinished downloads by the rule of `DownloadTask.bytesAtRest`. Uses `total()`, which cannot
            // overflow, because a server may announce any length.
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT status = 'completed' AS isFinished, count(*) AS files, total(bytes) AS bytes FROM (
                        SELECT status, CASE
                            WHEN status = 'completed'
                                THEN coalesce(CASE WHEN json_valid(finished) THEN json_extract(finished, '$.size') END, download.total, 0)
                            WHEN coalesce(received, 0) = 0 THEN 0
                            ELSE max(coalesce(download.total, 0), received)
                            END AS bytes
                        FROM download LEFT JOIN progress ON progress.downloadID = download.id
                        WHERE \(where_)
                    ) WHERE bytes > 0 OR status = 'completed' GROUP BY isFinished
                    """,
                arguments: arguments
            )
            var sums = Sums()
            for row in rows {
                let bytes = max(0, row.sum("bytes"))
                if row.sum("isFinished") == 1 {
                    (sums.finishedFiles, sums.finished) = (Int(row.sum("files")), bytes)
                } else {
                    (sums.unfinishedFiles, sums.unfinished) = (Int(row.sum("files")), bytes)
                }
            }
            return sums
        }
    }
}
