internal import GRDB

/// Defines the tables of a store, and brings a store of an earlier version up to date.
enum Schema {
    /// SQL that creates the tables of a new store. New columns stand at the end of a table, because ``StoreSalvage``
    /// reads the rows of every version by position.
    private static let tables = """
        -- The versions that the tables have, for GRDB.
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);

        -- A row for each download: URL and destination, state, the other options of the request and the identity of its
        -- file, then the columns that lists and the queue read.
        CREATE TABLE download (
            id TEXT PRIMARY KEY NOT NULL,
            url TEXT NOT NULL,
            folder TEXT,
            file TEXT,
            status TEXT NOT NULL,
            request TEXT NOT NULL,
            partPath TEXT,
            finalPath TEXT,
            resource TEXT,
            part TEXT,
            finished TEXT,
            error TEXT,
            ownerNumber INTEGER,
            createdAt DATETIME NOT NULL,
            startedAt DATETIME,
            finishedAt DATETIME,
            key TEXT,
            groupName TEXT,
            owner TEXT,
            metadata TEXT,
            host TEXT,
            priority INTEGER NOT NULL DEFAULT 0,
            position INTEGER NOT NULL DEFAULT 0,
            total INTEGER,
            hold TEXT,
            proof TEXT,
            linkExpiresAt DATETIME,
            link TEXT,
            linkHeaders TEXT,
            isRepair BOOLEAN NOT NULL DEFAULT 0
        );
        CREATE INDEX download_on_url ON download (url);
        CREATE INDEX download_on_status ON download (status);
        \(openByGroup);
        -- Most downloads have no key, no group and no partial file, and each index slows down every insert.
        CREATE INDEX download_on_file ON download (file) WHERE file IS NOT NULL;
        CREATE INDEX download_on_partPath ON download (partPath) WHERE partPath IS NOT NULL;
        CREATE INDEX download_on_group ON download (groupName) WHERE groupName IS NOT NULL;
        CREATE UNIQUE INDEX download_on_key ON download (key) WHERE key IS NOT NULL;
        CREATE INDEX download_in_order ON download (priority DESC, position);

        -- The byte ranges of a download that are in its file.
        CREATE TABLE progress (
            downloadID TEXT PRIMARY KEY NOT NULL REFERENCES download (id) ON DELETE CASCADE,
            written TEXT NOT NULL,
            synced TEXT NOT NULL,
            bootID TEXT NOT NULL,
            received INTEGER NOT NULL DEFAULT 0
        );

        -- The number of connections that a host allows.
        CREATE TABLE host (
            origin TEXT PRIMARY KEY NOT NULL,
            connections INTEGER NOT NULL,
            seenAt DATETIME NOT NULL
        );

        -- The largest number of connections to a host that was clearly faster than half of it.
        CREATE TABLE hostWorth (
            origin TEXT PRIMARY KEY NOT NULL,
            connections INTEGER NOT NULL,
            seenAt DATETIME NOT NULL
        );

        -- The hosts that sent two versions of a file under one weak validator. The number means nothing.
        CREATE TABLE hostChange (
            origin TEXT PRIMARY KEY NOT NULL,
            connections INTEGER NOT NULL,
            seenAt DATETIME NOT NULL
        );

        CREATE TABLE setting (
            name TEXT PRIMARY KEY NOT NULL,
            value TEXT NOT NULL
        );
        """

    /// Indexes the downloads of a group that wait or run.
    static let openByGroup = "CREATE INDEX download_open_by_group ON download (groupName) WHERE status = 'queued'"

    /// Changes of the tables, named by the version that introduced them. A version that changes the tables registers
    /// its name here and changes ``tables``. The entry of a released version is never edited.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        // No step recreates a table that others refer to, so foreign keys stay enforced. A check of all rows would
        // refuse a store because of one odd row.
        migrator.registerMigration("0.1.0", foreignKeyChecks: .immediate, merging: EarlierStores.names) {
            try EarlierStores.update($0, done: $1)
        }
        migrator.registerMigration("0.2.0", foreignKeyChecks: .immediate) { database in
            try database.create(table: "hostChange") { table in
                table.primaryKey("origin", .text)
                table.column("connections", .integer).notNull()
                table.column("seenAt", .datetime).notNull()
            }
        }
        return migrator
    }

    /// Whether the store was changed by a version that this one does not know. ``StoreOpening`` refuses such a store.
    static func isOfLaterVersion(_ database: Database) throws -> Bool {
        let migrator = migrator
        let known = EarlierStores.names.union(migrator.migrations)
        return try !migrator.appliedIdentifiers(database).isSubset(of: known)
    }

    /// Creates the tables of an empty database, or brings the tables of an earlier version up to date.
    ///
    /// - Parameter migrate: runs the migrator. Not called for an empty database.
    static func prepare(_ queue: DatabaseQueue, _ migrate: (DatabaseMigrator) throws -> Void) throws {
        let migrator = migrator
        let isEmpty = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_master") == 0 }
        if isEmpty {
            try queue.write { database in
                try database.execute(sql: tables)
                for name in migrator.migrations {
                    try database.execute(sql: "INSERT INTO grdb_migrations VALUES (?)", arguments: [name])
                }
            }
        } else if try !queue.read(migrator.hasCompletedMigrations) {
            try migrate(migrator)
        }
    }

    /// Creates an empty database in memory with all tables.
    static func databaseInMemory() throws(DownloadError) -> DatabaseQueue {
        do {
            let queue = try DatabaseQueue()
            try prepare(queue) { try $0.migrate(queue) }
            return queue
        } catch { throw StoreError.converted(error, at: ":memory:") }
    }
}
