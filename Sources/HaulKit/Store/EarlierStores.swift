internal import GRDB

/// Brings the stores of builds before version 0.1.0 up to date. They have nine states, each named by the step that led
/// to it. No released version wrote such a store, so this file and `Tests/Fixtures/state-6` may be deleted together
/// once nobody has one.
enum EarlierStores {
    struct Step: Sendable {
        let name: String
        let run: @Sendable (Database) throws -> Void

        init(_ name: String, _ run: @escaping @Sendable (Database) throws -> Void) {
            (self.name, self.run) = (name, run)
        }
    }

    /// Names of the states, as the table `grdb_migrations` of a store has them.
    static let names = Set(steps.map(\.name))

    /// Runs the steps that the store does not have yet.
    ///
    /// - Parameter done: names of the steps that the store has.
    static func update(_ database: Database, done: Set<String>) throws {
        for step in steps where !done.contains(step.name) { try step.run(database) }
    }

    static let steps: [Step] = [
        Step("1: downloads and segments") { database in
            try database.create(table: "download") { table in
                table.primaryKey("id", .text)
                table.column("url", .text).notNull().indexed()
                table.column("folder", .text)
                table.column("file", .text).indexed()
                table.column("status", .text).notNull().indexed()
                table.column("wishes", .jsonText).notNull()
                table.column("partPath", .text).indexed()
                table.column("finalPath", .text)
                table.column("resource", .jsonText)
                table.column("part", .jsonText)
                table.column("finished", .jsonText)
                table.column("error", .jsonText)
                table.column("owner", .integer)
                table.column("createdAt", .datetime).notNull()
                table.column("startedAt", .datetime)
                table.column("finishedAt", .datetime)
            }
            try database.create(table: "segment") { table in
                table.column("downloadID", .text).notNull().references("download", onDelete: .cascade)
                table.column("lower", .integer).notNull()
                table.column("written", .integer).notNull()
                table.column("synced", .integer).notNull()
                table.column("bootID", .text).notNull()
                table.primaryKey(["downloadID", "lower"])
            }
        },
        Step("2: several stretches a download, limits of hosts") { database in
            try database.create(table: "progress") { table in
                table.primaryKey("downloadID", .text).references("download", onDelete: .cascade)
                table.column("written", .text).notNull()
                table.column("synced", .text).notNull()
                table.column("bootID", .text).notNull()
            }
            try database.execute(
                sql: """
                    INSERT INTO progress (downloadID, written, synced, bootID)
                    SELECT downloadID, '0-' || written, '0-' || synced, bootID FROM segment WHERE lower = 0
                    """
            )
            try database.drop(table: "segment")
            try database.create(table: "host") { table in
                table.primaryKey("origin", .text)
                table.column("connections", .integer).notNull()
                table.column("seenAt", .datetime).notNull()
            }
        },
        Step("3: keys, groups, owners, metadata, order, holds") { database in
            try database.alter(table: "download") { table in
                table.add(column: "key", .text)
                table.add(column: "groupName", .text)
                table.add(column: "belongsTo", .text)
                table.add(column: "metadata", .jsonText)
                table.add(column: "host", .text)
                table.add(column: "priority", .integer).notNull().defaults(to: 0)
                table.add(column: "position", .integer).notNull().defaults(to: 0)
                table.add(column: "total", .integer)
                table.add(column: "hold", .text)
                table.add(column: "proof", .text)
                table.add(column: "linkExpiresAt", .datetime)
            }
            // Positions follow the order of adding, with gaps between them.
            try database.execute(sql: "UPDATE download SET position = rowid * 65536")
            try database.create(index: "download_on_key", on: "download", columns: ["key"], options: .unique)
            try database.create(
                index: "download_on_status_order",
                on: "download",
                columns: ["status", "priority", "position"]
            )
            try database.create(index: "download_on_group", on: "download", columns: ["groupName"])
            try database.execute(
                sql: "CREATE INDEX download_open_by_group ON download (groupName) WHERE status = 'queued'"
            )
            try database.alter(table: "progress") { table in
                table.add(column: "received", .integer).notNull().defaults(to: 0)
            }
        },
        Step("4: no index holds what is not there") { database in
            // Most downloads have no key, no group and no partial file, and each index slows down every insert.
            for (name, column) in [("file", "file"), ("partPath", "partPath"), ("group", "groupName"), ("key", "key")] {
                try database.drop(index: "download_on_\(name)")
                try database.execute(
                    sql: """
                        CREATE \(name == "key" ? "UNIQUE" : "") INDEX download_on_\(name) ON download (\(column))
                        WHERE \(column) IS NOT NULL
                        """
                )
            }
        },
        Step("5: owners that the kernel vouches for") { database in
            // Clears all owners, because the number of a process does not prove that the process is still there.
            try database.execute(sql: "UPDATE download SET owner = NULL WHERE owner IS NOT NULL")
        },
        Step("6: settings") { database in
            try database.create(table: "setting") { table in
                table.primaryKey("name", .text)
                table.column("value", .text).notNull()
            }
        },
        Step("7: one request") { database in
            try database.execute(
                sql: """
                    ALTER TABLE download RENAME COLUMN wishes TO request;
                    ALTER TABLE download RENAME COLUMN owner TO ownerNumber;
                    ALTER TABLE download RENAME COLUMN belongsTo TO owner;
                    ALTER TABLE download ADD COLUMN link TEXT;
                    ALTER TABLE download ADD COLUMN linkHeaders TEXT;
                    ALTER TABLE download ADD COLUMN isRepair BOOLEAN NOT NULL DEFAULT 0;
                    """
            )
            // The JSON already has the names of the request's properties. Four members are no options of a request:
            // they move to other columns, or become `onDuplicate`. Few rows have any of the four. A row whose text is
            // not JSON stays as it is and is reported when it is read.
            let members = ["link", "linkHeaders", "isRepair", "isBeside"]
            let isAny = members.map { "json_type(request, '$.\($0)') IS NOT NULL" }.joined(separator: " OR ")
            try database.execute(
                sql: """
                    UPDATE download SET
                        link = json_extract(request, '$.link'),
                        linkHeaders = json_extract(request, '$.linkHeaders'),
                        isRepair = coalesce(json_extract(request, '$.isRepair'), 0),
                        request = json_remove(
                            CASE WHEN json_extract(request, '$.isBeside')
                                THEN json_set(request, '$.onDuplicate', 'addAnyway') ELSE request END,
                            \(members.map { "'$.\($0)'" }.joined(separator: ", "))
                        )
                    WHERE CASE WHEN json_valid(request) THEN \(isAny) ELSE 0 END
                    """
            )
        },
        Step("8: connections that were worth it") { database in
            try database.create(table: "hostWorth") { table in
                table.primaryKey("origin", .text)
                table.column("connections", .integer).notNull()
                table.column("seenAt", .datetime).notNull()
            }
        },
        Step("9: the order of the queue without the states") { database in
            // With the old index, pausing or resuming everything changed three indexes for each download. No query used
            // the order of the old index.
            try database.drop(index: "download_on_status_order")
            try database.execute(sql: "CREATE INDEX download_in_order ON download (priority DESC, position)")
        },
    ]
}
