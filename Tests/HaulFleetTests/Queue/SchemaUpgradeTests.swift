import Testing

@testable import HaulFleet

@Suite(.timeLimit(.minutes(60)))
struct SchemaUpgradeTests {
    private func withQueueOfVersionOne(_ body: (TestDatabase, SchemaInstaller) async throws -> Void) async throws {
        let database = try await PostgresServer.shared().makeDatabase(withQueue: false)
        do {
            let installer = SchemaInstaller(database.connection, .standard)
            try #require(try await installer.install(upTo: 1))
            try await body(database, installer)
        } catch {
            try await database.drop()
            throw error
        }
        try await database.drop()
    }

    /// Adds items and makes them ready, without the functions of the present version.
    private func ready(_ count: Int, _ database: TestDatabase) async throws {
        try await database.sql("SELECT make_partitions(1000)")
        try await database.sql("INSERT INTO host (name) VALUES ('a.example')")
        let items = """
            INSERT INTO item (item_id, host_id, prio, url, path)
            SELECT n, host_id, 100, 'https://a.example/' || n, 'a/' || n FROM host, generate_series(1, $1::bigint) n
            """
        try await database.sql(items, [.int(count)])
        try await database.sql("UPDATE numbering SET next_item = $1::bigint + 1, next_batch = 2", [.int(count)])
        let batch = """
            INSERT INTO batch (batch_id, first_id, last_id, items, fed_to, best_prio)
            VALUES (1, 1, $1::bigint, $1::bigint, 0, 100)
            """
        try await database.sql(batch, [.int(count)])
        try await database.sql("INSERT INTO ready (item_id, host_id, prio) SELECT item_id, host_id, prio FROM item")
        try await database.sql("UPDATE batch SET fed_to = last_id, fed_items = items")
        try await database.sql("UPDATE host SET has_ready = true")
    }

    @Test func itemsLeasesAndSettingsStay() async throws {
        try await withQueueOfVersionOne { database, installer in
            try await ready(10, database)
            try await database.sql("UPDATE setting SET destination = '/data', max_attempts = 7")
            let queue = database.queue()
            defer { queue.close() }
            // Adds a worker of the previous version. The queue refuses this worker after the upgrade.
            try await database.sql("INSERT INTO worker (worker_id, label, timeline, lease_s) VALUES (5, 'old', 1, 60)")
            try await database.sql(
                """
                WITH gone AS (DELETE FROM ready WHERE item_id <= 3 RETURNING *)
                INSERT INTO lease (item_id, host_id, prio, attempt, losses, epoch, worker_id, claim_number)
                SELECT item_id, host_id, prio, 1, 0, 1, 5, 1 FROM gone
                """
            )
            await expectError(.databaseRefused) { _ = try await queue.register(label: "new", predecessor: nil) }
            #expect(try await installer.install())
            #expect(try await !installer.install())
            let settings = try await QueueAdministration(database.connection, .standard).settings()
            #expect(settings.destination == "/data" && settings.maxAttempts == 7 && settings.leaseSeconds == 60)
            // The worker of the new version succeeds the old one.
            let registration = try await queue.register(label: "new", predecessor: 5)
            #expect(registration.leases.count == 3)
            #expect(try await queue.claim(registration.worker, limit: 100).leases.count == 7)
            let census = try await database.census()
            #expect(census.items == 10 && census.rows == 10)
        }
    }

    @Test func rolesKeepTheirRights() async throws {
        try await withQueueOfVersionOne { database, installer in
            try await ready(2, database)
            let (worker, loader) = ("worker_\(database.name)", "loader_\(database.name)")
            let reader = "reader_\(database.name)"
            for role in [worker, loader, reader] { try await database.sql("CREATE ROLE \(role) LOGIN") }
            try await installer.grant(.worker, to: worker)
            try await installer.grant(.reader, to: reader)
            // What the program of version one granted: its queue lacks tables that a loader needs now.
            try await database.sql("GRANT USAGE ON SCHEMA haul TO \(loader)")
            try await database.sql("GRANT EXECUTE ON FUNCTION load, make_partitions TO \(loader)")
            try await database.sql("GRANT SELECT, INSERT ON host, url_seen, item, batch TO \(loader)")
            try await database.sql("GRANT SELECT, UPDATE ON numbering TO \(loader)")
            try await database.sql("GRANT SELECT ON setting, version TO \(loader)")
            try #require(try await installer.install())
            let queue = PostgresQueue(try database.server.settings(database: database.name, user: worker))
            let id = try await queue.register(label: "one", predecessor: nil).worker
            #expect(try await queue.claim(id, limit: 1).leases.count == 1)
            await expectError(.databaseRefused) { _ = try await queue.work.run("SELECT haul.load()") }
            queue.close()
            let connection = DatabaseConnection(try database.server.settings(database: database.name, user: loader))
            let items = AsyncStream { continuation in
                continuation.yield(NewItem(url: "https://new.example/1"))
                continuation.finish()
            }
            #expect(try await QueueLoader(connection, .standard).add(items).added == 1)
            await expectError(.databaseRefused) {
                _ = try await connection.run("SELECT * FROM haul.register(1, 'x', NULL)")
            }
            connection.close()
            let reading = DatabaseConnection(try database.server.settings(database: database.name, user: reader))
            let administration = QueueAdministration(reading, .standard)
            #expect(try await administration.shards().isEmpty, "also tables that the upgrade made")
            #expect(try await administration.failedItems() == 0)
            for try await page in QueueExport(reading, .standard, format: .csv) { #expect(!page.bytes.isEmpty) }
            reading.close()
            for role in [worker, loader, reader] {
                try await database.sql("DROP OWNED BY \(role)")
                try await database.sql("DROP ROLE \(role)")
            }
        }
    }
}
