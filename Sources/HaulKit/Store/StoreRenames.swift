internal import GRDB

/// Finished files that are being renamed: the row has both names, the old one in the column of the partial file.
extension DownloadStore {
    /// Downloads whose finished files were about to get another name when their process ended.
    func unfinishedRenames() async throws(DownloadError) -> [DownloadRecord] {
        try await onWriter { store in
            try store.readingRows { database, odd in
                // By the index of partial files, which holds few rows, not by that of states.
                let sql = "SELECT \(OddRows.columns) FROM download WHERE partPath > '' AND +status = 'completed'"
                return try Row.fetchAll(database.cachedStatement(sql: sql)).compactMap { odd.record($0) }
            }
        }
    }

    /// Whether an unfinished download other than that of `id` is to have its file at this path.
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
