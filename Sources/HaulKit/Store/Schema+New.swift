internal import GRDB

extension Schema {
    /// Brings a database up to date. An empty database gets all tables at once, which takes a tenth of the time.
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

    /// SQL of all tables after all migrations, as SQLite has stored it.
    private static let tables = """
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        CREATE TABLE "download" ("id" TEXT PRIMARY KEY NOT NULL, "url" TEXT NOT NULL, "folder" TEXT, "file" TEXT, \
        "status" TEXT NOT NULL, "request" TEXT NOT NULL, "partPath" TEXT, "finalPath" TEXT, "resource" TEXT, "part" TEXT, \
        "finished" TEXT, "error" TEXT, "ownerNumber" INTEGER, "createdAt" DATETIME NOT NULL, "startedAt" DATETIME, \
        "finishedAt" DATETIME, "key" TEXT, "groupName" TEXT, "owner" TEXT, "metadata" TEXT, "host" TEXT, \
        "priority" INTEGER NOT NULL DEFAULT 0, "position" INTEGER NOT NULL DEFAULT 0, "total" INTEGER, "hold" TEXT, \
        "proof" TEXT, "linkExpiresAt" DATETIME, link TEXT, linkHeaders TEXT, isRepair BOOLEAN NOT NULL DEFAULT 0);
        CREATE INDEX "download_on_url" ON "download"("url");
        CREATE INDEX "download_on_status" ON "download"("status");
        CREATE TABLE "progress" ("downloadID" TEXT PRIMARY KEY NOT NULL REFERENCES "download"("id") ON DELETE CASCADE, \
        "written" TEXT NOT NULL, "synced" TEXT NOT NULL, "bootID" TEXT NOT NULL, "received" INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE "host" ("origin" TEXT PRIMARY KEY NOT NULL, "connections" INTEGER NOT NULL, \
        "seenAt" DATETIME NOT NULL);
        \(openByGroup);
        CREATE INDEX download_on_file ON download (file)
        WHERE file IS NOT NULL;
        CREATE INDEX download_on_partPath ON download (partPath)
        WHERE partPath IS NOT NULL;
        CREATE INDEX download_on_group ON download (groupName)
        WHERE groupName IS NOT NULL;
        CREATE UNIQUE INDEX download_on_key ON download (key)
        WHERE key IS NOT NULL;
        CREATE TABLE "setting" ("name" TEXT PRIMARY KEY NOT NULL, "value" TEXT NOT NULL);
        CREATE TABLE "hostWorth" ("origin" TEXT PRIMARY KEY NOT NULL, "connections" INTEGER NOT NULL, \
        "seenAt" DATETIME NOT NULL);
        CREATE INDEX download_in_order ON download (priority DESC, position);
        """
}
