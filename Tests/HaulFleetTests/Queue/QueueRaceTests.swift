import Foundation
import Testing

@testable import HaulFleet

@Suite(.timeLimit(.minutes(60)))
struct QueueRaceTests {
    private static let file = CompletedFile(bytes: 10, sha256: Array(repeating: 7, count: 32))

    /// Covers failure 4 of docs/fleet.md: 10,000 items are reported while `maintain` takes them from their worker.
    @Test func aReportAndTheEndOfItsWorkerNeverBothCount() async throws {
        try await TestDatabase.with { database async throws in
            let (rounds, size) = (100, 100)
            try await database.ready(rounds * size)
            // No item becomes a suspect, which a worker would get alone.
            try await database.sql("UPDATE setting SET max_losses = 1000")
            let (queue, other) = (database.queue(), database.queue())
            defer { queue.close(); other.close() }
            var (accepted, returned) = (0, 0)
            for _ in 0..<rounds {
                let worker = try await queue.register(label: "worker", predecessor: nil).worker
                let leases = try await queue.claim(worker, limit: size).leases
                #expect(leases.count == size)
                try await database.expire(worker)
                // Sends two reports of 50 items while `maintain` runs.
                let reports = leases.map { Report($0.key, .completed(Self.file)) }
                async let first = queue.report(worker, Array(reports[..<50]))
                async let maintenance = other.maintain()
                async let second = queue.report(worker, Array(reports[50...]))
                let (kept, lost) = (try await first.count + second.count, try await maintenance)
                accepted += kept
                returned += lost.returnedItems
                // If `maintain` finds a report in progress, it skips the worker.
                if lost.lostWorkers.isEmpty { #expect(kept == size) }
            }
            #expect(accepted + returned == rounds * size, "\(accepted) accepted")
            #expect(try await database.count("done") == accepted)
            let census = try await database.census()
            #expect(census.items == census.rows)
            let twice = """
                (SELECT item_id FROM ready UNION ALL SELECT item_id FROM later UNION ALL SELECT item_id FROM lease
                UNION ALL SELECT item_id FROM done) a GROUP BY item_id HAVING count(*) > 1
                """
            #expect(try await database.sql("SELECT item_id FROM \(twice)").count == 0)
        }
    }

    /// Covers failure 5 of docs/fleet.md, for each call that must not take effect twice.
    @Test func aCallWhoseAnswerWasLostIsAnsweredAgain() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(6)
            let proxy = try TestProxy(target: database.server.port)
            defer { proxy.close() }
            let queue = PostgresQueue(try database.server.settings(database: database.name, port: proxy.port))
            defer { queue.close() }
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            _ = try await queue.claim(worker, limit: 0)

            proxy.loseNextAnswer()
            await expectError(.databaseUnreachable) { _ = try await queue.claim(worker, limit: 3) }
            #expect(try await database.count("lease") == 3)
            let leases = try await queue.claim(worker, limit: 3).leases
            #expect(leases.count == 3)
            #expect(try await database.count("lease") == 3)

            let failure = Failure("http_500", "no")
            let reports = [
                Report(leases[0].key, .completed(Self.file)),
                Report(leases[1].key, .retry(failure, delay: .seconds(60))),
                Report(leases[2].key, .returned),
            ]
            proxy.loseNextAnswer()
            await expectError(.databaseUnreachable) { _ = try await queue.report(worker, reports) }
            #expect(try await database.count("lease") == 0)
            #expect(try await queue.report(worker, reports) == Set(leases.map(\.key)))
            #expect(try await database.count("done") == 1)
            #expect(try await database.sql("SELECT sum(completed), sum(retried) FROM progress").first?.int(0) == 1)

            let key = try #require(try await queue.claim(worker, limit: 1).leases.first?.key)
            proxy.loseNextAnswer()
            await expectError(.databaseUnreachable) { _ = try await queue.gate(worker, [key]) }
            #expect(try await queue.gate(worker, [key]) == [key])
            proxy.loseNextAnswer()
            await expectError(.databaseUnreachable) { _ = try await queue.recordUpload(worker, key, uploadID: "u") }
            #expect(try await queue.recordUpload(worker, key, uploadID: "u"))
            #expect(try await database.count("orphan_upload") == 0)
            #expect(proxy.lostAnswers == 4)
            let census = try await database.census()
            #expect(census.items == census.rows)
        }
    }

    /// Covers failure 13 of docs/fleet.md. The transaction stays open for seconds instead of an hour.
    @Test func anOpenTransactionIsShownAndStopsNobody() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(4000)
            let holder = DatabaseConnection(database.settings)
            defer { holder.close() }
            _ = try await holder.perform(timeout: .seconds(600)) { session throws(FleetError) in
                _ = try session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                return try session.execute("SELECT count(*) FROM haul.item")
            }
            let queue = database.queue()
            defer { queue.close() }
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            for _ in 0..<40 {
                let leases = try await queue.claim(worker, limit: 100).leases
                #expect(leases.count == 100)
                _ = try await queue.report(worker, leases.map { Report($0.key, .completed(Self.file)) })
            }
            let administration = QueueAdministration(database.connection, .standard)
            let open = try #require(try await administration.status().oldestTransaction)
            #expect(open.seconds > 0 && open.holder.contains("haul-fleet"))
            #expect(FleetStatus.OpenTransaction(seconds: 61, holder: "").isAlarming)
            // While the transaction is open, `VACUUM` removes no rows that died since its begin. Once the transaction
            // has ended, `VACUUM` removes all of them.
            func removable() async throws -> Int {
                _ = try await database.connection.perform(timeout: .seconds(600)) { session throws(FleetError) in
                    try session.execute("VACUUM haul.ready")
                }
                return try await database.sql("SELECT pg_relation_size('ready')").first?.int(0) ?? -1
            }
            #expect(try await removable() > 0)
            holder.close()
            try await waitUntil("vacuum has emptied the table") { try await removable() == 0 }
        }
    }

    /// Covers failure 14 of docs/fleet.md.
    @Test func loadersThatEndInTheMiddleOrMeetLoseNothingAndAddNothingTwice() async throws {
        try await TestDatabase.with { database async throws in
            let items = (0..<6000).map { NewItem(url: "https://h\($0 % 50).example/\($0)") }
            // The proxy cuts this connection in the middle of the COPY of the third chunk.
            let proxy = try TestProxy(target: database.server.port)
            defer { proxy.close() }
            let settings = try database.server.settings(database: database.name, port: proxy.port)
            let broken = DatabaseConnection(settings)
            defer { broken.close() }
            let stream = AsyncStream { continuation in
                for item in items { continuation.yield(item) }
                continuation.finish()
            }
            proxy.cut(afterSending: 100_000)
            await expectError(.databaseUnreachable) {
                _ = try await QueueLoader(broken, .standard, chunk: 500).add(stream)
            }
            let after = try await database.count("item")
            #expect(after > 0 && after < 6000 && after.isMultiple(of: 500))
            #expect(try await database.count("url_seen") == after)
            // Two loaders add the items in opposite orders while the feeder runs.
            let other = DatabaseConnection(database.settings)
            defer { other.close() }
            let queue = database.queue()
            defer { queue.close() }
            let backwards = AsyncStream { continuation in
                for item in items.reversed() { continuation.yield(item) }
                continuation.finish()
            }
            async let first = database.add(items, chunk: 700)
            async let second = QueueLoader(other, .standard, chunk: 700).add(backwards)
            for _ in 0..<20 { _ = try await queue.maintain() }
            let (one, two) = (try await first, try await second)
            #expect(Int(one.added + two.added) + after == 6000)
            #expect(one.added + one.present == 6000 && two.added + two.present == 6000)
            _ = try await queue.maintain()
            #expect(try await database.count("item") == 6000)
            #expect(try await database.count("(SELECT DISTINCT url FROM item) u") == 6000)
            #expect(try await database.count("ready") == 6000)
            #expect(try await database.count("ready r JOIN item i USING (item_id)") == 6000)
            let unfed = try await QueueAdministration(database.connection, .standard).status().totals.unfed
            #expect(unfed == 0)
        }
    }
}
