internal import GRDB

/// Folder that the system may move between two runs. Updates the stored paths below the folder after a move.
enum MovingRoot {
    private static let setting = "root"

    /// Changes stored paths below the earlier root to paths below `root`, and stores `root`.
    ///
    /// - Parameter root: the current absolute path of the root.
    static func follow(_ root: String, in queue: DatabaseQueue) throws {
        guard FilePaths.isAbsoluteAndPlain(root) else {
            throw DownloadError(.storeFailed, "The root that may move, \(root), is no absolute path.")
        }
        try queue.write { database in
            let before = try String.fetchOne(
                database,
                sql: "SELECT value FROM setting WHERE name = ?",
                arguments: [setting]
            )
            guard before != root else { return }
            if let before { try move(from: before, to: root, database) }
            try database.execute(
                sql:
                    "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                arguments: [setting, root]
            )
        }
    }

    private static func move(from before: String, to root: String, _ database: Database) throws {
        func moved(_ value: String) -> String { ":root || substr(\(value), length(:before) + 1)" }
        func isBelow(_ value: String) -> String {
            "(\(value) = :before OR substr(\(value), 1, length(:before) + 1) = :before || '/')"
        }
        let arguments: StatementArguments = ["before": before, "root": root]
        for column in ["folder", "file", "partPath", "finalPath"] {
            try database.execute(
                sql: "UPDATE download SET \(column) = \(moved(column)) WHERE \(isBelow(column))",
                arguments: arguments
            )
        }
        // `root` is the folder that the file of a request must not leave, and `replaces` the film with gaps that the
        // download replaces. A row whose text is not JSON is reported when it is read.
        for key in ["$.root", "$.replaces.path"] {
            let inner = "json_extract(request, '\(key)')"
            try database.execute(
                sql: """
                    UPDATE download SET request = json_set(request, '\(key)', \(moved(inner)))
                    WHERE CASE WHEN json_valid(request) THEN \(isBelow(inner)) ELSE 0 END
                    """,
                arguments: arguments
            )
        }
    }
}
