internal import GRDB

/// Queries for renames of finished files. During a rename the row has both names: `partPath` holds the old one.
extension DownloadStore {
    /// Returns the downloads whose finished files were being renamed when their process ended.
    func unfinishedRenames() async throws(DownloadError) -> [DownloadRecord] {
        try await onWriter { store in
            try store.readingRows { database, odd in
                // The plus makes SQLite use the index on `partPath`, which has few rows, not the one on `status`.
                let sql = "SELECT \(OddRows.columns) FROM download WHERE partPath > '' AND +status = 'completed'"
                return try Row.fetchAll(database.cachedStatement(sql: sql)).compactMap { odd.record($0) }
            }
        }
    }

    /// Whether another unfinished download than `id` will have its file at `path`.
    func isDestination(_ path: String, besides id: String) async throws(DownloadError) -> Bool {
        try await onWriter { store in
            store.writeGathered()
            return try store.readingRows { database, _ in
                let rows = try Row.fetchAll(
                    database.cachedStatement(
                        sql: """
                            SELECT 1 FROM download
                            WHERE (file = ?1 OR finalPath = ?1) AND id != ?2 AND status != 'completed' LIMIT 1
                            """
                    ),
                    arguments: [path, id]
                )
                return !rows.isEmpty
            }
        }
    }
}
