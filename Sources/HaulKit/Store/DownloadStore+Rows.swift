internal import GRDB

/// Reads rows of `download`, of which some may be unreadable.
extension DownloadStore {
    /// Reads rows of `download` one by one, so that an unreadable row hides no other. Reports unreadable rows and sets
    /// their status to ``OddRows/status``.
    func readingRows<Value: Sendable>(_ read: @Sendable (Database, inout OddRows) throws -> Value) throws -> Value {
        let (value, odd) = try file.look { database in
            var odd = OddRows()
            return (try read(database, &odd), odd)
        }
        guard !odd.found.isEmpty else { return value }
        try file.queue.write { database in
            for row in odd.found {
                // Frees the key for the download that replaces the row.
                try database.execute(
                    sql: "UPDATE download SET status = ?, key = NULL, hold = NULL WHERE rowid = ?",
                    arguments: [OddRows.status, row.number]
                )
            }
        }
        for row in odd.found { onOddRow(row.name.isEmpty ? "number \(row.number)" : row.name) }
        return value
    }
}
