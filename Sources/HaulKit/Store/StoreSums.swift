internal import GRDB

/// Sums over many downloads.
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
            // Counts as `DownloadTask.bytesAtRest`. Uses `total()`, which cannot overflow, because a server may
            // announce any length.
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
