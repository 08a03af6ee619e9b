import Foundation
import Testing

@testable import HaulFleet

@Suite(.timeLimit(.minutes(60)))
struct QueueAdministrationTests {
    private static let file = CompletedFile(bytes: 10, sha256: Array(repeating: 7, count: 32))

    @Test func theStatusAddsUp() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(10)
            try await database.add((0..<7).map { NewItem(url: "https://b.example/\($0)") })
            let queue = database.queue()
            let administration = QueueAdministration(database.connection, .standard)
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let leases = try await queue.claim(worker, limit: 5).leases
            let failure = Failure("http_404", "It is not there.")
            _ = try await queue.report(
                worker,
                [
                    Report(leases[0].key, .completed(Self.file)), Report(leases[1].key, .failed(failure)),
                    Report(leases[2].key, .retry(failure, delay: .seconds(99))),
                ]
            )
            _ = try await queue.gate(worker, [leases[3].key])
            let status = try await administration.status()
            let totals = status.totals
            #expect(totals.items == 17 && totals.unfed == 7 && totals.ready == 5 && totals.later == 1)
            #expect(totals.leased == 2 && totals.completed == 1 && totals.failed == 1 && totals.retried == 1)
            #expect(totals.bytes == 10 && !totals.isEstimate && !totals.isDrained)
            #expect(status.rate.itemsPerSecond > 0 && status.rate.bytesPerSecond > 0)
            let shown = try #require(status.workers.first)
            #expect(shown.id == worker && shown.heldItems == 2 && shown.publishing == 1 && shown.state == "live")
            #expect(status.hosts.first?.name == "a.example" && status.hosts.first?.ready == 5)
            #expect(status.failures.map(\.kind) == ["http_404"] && status.failures.first?.failed == 1)
            #expect(status.failures.first?.exampleMessage == "It is not there.")
            let json = try JSONEncoder().encode(status)
            #expect(try JSONDecoder().decode(FleetStatus.self, from: json) == status)
            for state in ItemState.allCases {
                let count = try await administration.list(.init(state)).count
                let expected: [ItemState: Int] = [
                    .unfed: 7, .ready: 5, .later: 1, .leased: 2, .completed: 1, .failed: 1, .cancelled: 0,
                ]
                #expect(count == expected[state], "\(state)")
            }
            try await database.sql("UPDATE worker SET beat_at = beat_at - lease_s * interval '2 s'")
            #expect(try await administration.status().workers.map(\.state) == ["dead"], "not declared yet")
            let pages = try await administration.list(.init(.unfed), limit: 4)
            let rest = try await administration.list(.init(.unfed), limit: 4, after: try #require(pages.last).item)
            #expect(pages.count == 4 && rest.count == 3)
            #expect(try await administration.list(.init(.failed, host: "b.example")).isEmpty)
            #expect(try await administration.list(.init(.failed, failureKind: "http_404")).count == 1)
        }
    }

    @Test func failedItemsAreTriedAgainOnceAndTheirEpochStays() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(3)
            let queue = database.queue()
            let administration = QueueAdministration(database.connection, .standard)
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let leases = try await queue.claim(worker, limit: 3).leases
            let kinds = ["a", "b", "b"]
            _ = try await queue.report(
                worker,
                zip(leases, kinds).map { Report($0.key, .failed(Failure($1, "no"))) }
            )
            #expect(try await administration.retry(.init(host: "none.example")) == 0)
            #expect(try await administration.retry(.init(kind: "b")) == 2)
            #expect(try await administration.retry(.init(kind: "b")) == 0)
            #expect(try await administration.status().totals.failed == 1)
            #expect(try await administration.status().failures.map(\.kind) == ["a"])
            #expect(try await queue.maintain().promotedItems == 2)
            let again = try await queue.claim(worker, limit: 3).leases
            #expect(again.count == 2 && again.allSatisfy { $0.key.epoch == 2 && $0.attempt == 1 })
            #expect(try await administration.retry() == 1)
        }
    }

    @Test func aPausedQueueGivesNothingAndADrainingOneEndsItsWorkers() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            let queue = database.queue()
            let administration = QueueAdministration(database.connection, .standard)
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            try await administration.pause()
            let paused = try await queue.claim(worker, limit: 1)
            #expect(paused.isPaused && paused.leases.isEmpty && !paused.isDrained)
            #expect(try await queue.beat(worker).isPaused)
            try await administration.drain()
            let beat = try await queue.beat(worker)
            #expect(beat.isDraining && !beat.isPaused)
            #expect(try await queue.claim(worker, limit: 1).isPaused)
            try await administration.resume()
            #expect(try await queue.claim(worker, limit: 1).leases.count == 1)
        }
    }

    @Test func settingsReachWorkersWithTheirNextBeat() async throws {
        try await TestDatabase.with { database async throws in
            let queue = database.queue()
            let administration = QueueAdministration(database.connection, .standard)
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            var settings = try await administration.settings()
            settings.leaseSeconds = 7
            settings.destination = "s3://bucket/it's"
            settings.defaultMaxConnections = 3
            try await administration.update(settings)
            #expect(try await administration.settings() == settings)
            #expect(try await queue.beat(worker).leaseTime == .seconds(7))
            try await database.ready(5)
            #expect(try await queue.claim(worker, limit: 9).leases.count == 3)
            settings.leaseSeconds = 0
            let wrong = settings
            await expectError(.invalidInput) { try await administration.update(wrong) }
        }
    }

    @Test func theTableHasTheDefaultsAndTheLeaseTimesOfTheSettings() async throws {
        try await TestDatabase.with { database async throws in
            // The template of the tests has another lease time.
            try await database.sql("UPDATE setting SET lease_s = DEFAULT")
            let administration = QueueAdministration(database.connection, .standard)
            #expect(try await administration.settings() == QueueSettings())
            let range = QueueSettings.leaseSecondsRange
            for seconds in [range.lowerBound, range.upperBound] {
                var settings = QueueSettings()
                settings.leaseSeconds = seconds
                try await administration.update(settings)
                #expect(try await administration.settings() == settings)
            }
            for seconds in [range.lowerBound - 1, range.upperBound + 1] {
                await expectError(.statementFailed) {
                    try await database.sql("UPDATE setting SET lease_s = \(seconds)")
                }
            }
        }
    }

    @Test func resultsAreExportedInPagesThatCanBeTakenUp() async throws {
        try await TestDatabase.with { database async throws in
            try await database.add([
                NewItem(key: "k\"1", url: "https://a.example/1", path: "a,b", metadata: #"{"x":"\\n"}"#)
            ])
            try await database.ready(24)
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let leases = try await queue.claim(worker, limit: 25).leases
            #expect(leases.count == 25)
            let reports = leases.map { lease in
                lease.key.item.isMultiple(of: 2)
                    ? Report(lease.key, .completed(Self.file)) : Report(lease.key, .failed(Failure("k", "a\nb\\")))
            }
            _ = try await queue.report(worker, reports)
            func export(_ format: QueueExport.Format, after: Int64 = 0) async throws -> [String] {
                var bytes: [UInt8] = []
                let pages = QueueExport(database.connection, .standard, format: format, after: after, pageSize: 10)
                for try await page in pages { bytes += page.bytes }
                return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
            }
            let lines = try await export(.jsonLines)
            #expect(lines.count == 25)
            let first = try #require(JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
            #expect(first["key"] as? String == "k\"1" && first["metadata"] as? String == #"{"x":"\\n"}"#)
            #expect(first["failure_message"] as? String == "a\nb\\" && first["sha256"] == nil)
            #expect(try await export(.jsonLines, after: 20).count == 5)
            let table = try await export(.csv)
            #expect(table[0].hasPrefix("item,key,url,path,outcome,bytes,sha256"))
            #expect(table.contains { $0.hasPrefix(#"1,"k""1",https://a.example/1,"a,b",failed,"#) })
            #expect(try await !export(.csv, after: 20).contains { $0.hasPrefix("item") })
        }
    }

    @Test func refusesAQueueWithAVersionThatNoProgramWrote() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            try await database.sql("DELETE FROM version")
            try await database.sql("INSERT INTO version (number) VALUES (-5)")
            await expectError(.databaseRefused) {
                _ = try await SchemaInstaller(database.connection, .standard).install()
            }
        }
    }

    @Test func everyCommandRefusesAQueueOfANewerProgram() async throws {
        try await TestDatabase.with { database async throws in
            let settings = try database.server.settings(database: database.name)
            let fleet = Fleet(settings, .standard)
            // A queue that is missing is left to the command.
            #expect(try await Fleet(settings, try QueueName("missing")).withConnection { _ in 1 } == 1)
            #expect(try await fleet.withConnection { _ in 2 } == 2)
            try await database.sql("INSERT INTO version (number) VALUES (1000)")
            var isCalled = false
            await expectError(.databaseRefused) { try await fleet.withConnection { _ in isCalled = true } }
            #expect(!isCalled)
        }
    }

    @Test func aWorkersRoleCanOnlyCallWhatWorkersCall() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            let role = "role_\(database.name)"
            try await database.sql("CREATE ROLE \(role) LOGIN")
            let installer = SchemaInstaller(database.connection, .standard)
            #expect(try await !installer.install())
            for _ in 0..<2 { try await installer.grant(.worker, to: role) }
            let settings = try database.server.settings(database: database.name, user: role)
            let queue = PostgresQueue(settings)
            defer { queue.close() }
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let lease = try #require(try await queue.claim(worker, limit: 1).leases.first)
            _ = try await queue.beat(worker)
            _ = try await queue.maintain()
            #expect(try await queue.report(worker, [Report(lease.key, .completed(Self.file))]) == [lease.key])
            try await queue.leave(worker)
            let refused = [
                "SELECT * FROM haul.item", "UPDATE haul.done SET outcome = 1", "DELETE FROM haul.lease",
                "SELECT haul.retry_failed(NULL, NULL, NULL, 1)", "SELECT haul.make_partitions(99999999)",
                "SELECT haul.give_back(ARRAY[1], true)", "CREATE TABLE haul.x ()", "SELECT haul.load()",
            ]
            for text in refused {
                await expectError(.databaseRefused) { _ = try await queue.work.run(text) }
            }
            try await installer.grant(.loader, to: role)
            try await installer.grant(.reader, to: role)
            let connection = DatabaseConnection(settings)
            let items = AsyncStream { continuation in
                continuation.yield(NewItem(url: "https://new.example/1"))
                continuation.finish()
            }
            #expect(try await QueueLoader(connection, .standard).add(items).added == 1)
            #expect(try await QueueAdministration(connection, .standard).status().totals.items == 2)
            connection.close()
            queue.close()
            try await database.sql("DROP OWNED BY \(role)")
            try await database.sql("DROP ROLE \(role)")
        }
    }

    @Test func aQueueThatIsNotThereSaysWhatToDo() async throws {
        let server = try await PostgresServer.shared()
        let database = try await server.makeDatabase(withQueue: false)
        let queue = database.queue()
        do {
            _ = try await queue.register(label: "one", predecessor: nil)
            Issue.record("It registered.")
        } catch {
            #expect(error.code == .databaseRefused && error.message.contains("haul-fleet init"))
        }
        queue.close()
        // Four installers at the same time create the schema once.
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let connection = DatabaseConnection(database.settings)
                    defer { connection.close() }
                    return try await SchemaInstaller(connection, .standard).install()
                }
            }
            let changed = try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            #expect(changed == 1)
        }
        let other = try QueueName("other-queue")
        #expect(try await SchemaInstaller(database.connection, other).install())
        let second = PostgresQueue(database.settings, name: other)
        _ = try await second.register(label: "one", predecessor: nil)
        second.close()
        await expectError(.invalidInput) { _ = try QueueName("a\"; DROP") }
        try await database.drop()
    }

    @Test func aQueueIsDrainedWhenEachItemHasEnded() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            #expect(try await administration.isDrained())
            try await database.add([NewItem(url: "https://a.example/1"), NewItem(url: "https://a.example/2")])
            #expect(try await !administration.isDrained())
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            _ = try await queue.maintain()
            #expect(try await !administration.isDrained())
            let leases = try await queue.claim(worker, limit: 2).leases
            #expect(try await !administration.isDrained())
            let failure = Failure("http_503", "Not now.")
            _ = try await queue.report(
                worker,
                [Report(leases[0].key, .completed(Self.file)), Report(leases[1].key, .retry(failure, delay: .zero))]
            )
            #expect(try await !administration.isDrained())
            _ = try await database.connection.run("UPDATE haul.later SET due_at = now() - interval '1 s'")
            _ = try await queue.maintain()
            let again = try await queue.claim(worker, limit: 2).leases
            _ = try await queue.report(worker, again.map { Report($0.key, .failed(failure)) })
            #expect(try await administration.isDrained())
        }
    }

    @Test func aQueueIsDeletedOnlyWhileNoWorkerIsAtWork() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(3)
            let queue = database.queue()
            let administration = QueueAdministration(database.connection, .standard)
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let error = await #expect(throws: FleetError.self) { try await administration.delete() }
            #expect(error?.message.contains("at work (1)") == true)
            #expect(try await administration.status().totals.items == 3)
            // A worker that died long ago is at work no more, whether it was declared dead or not.
            _ = try await database.connection.run(
                "UPDATE haul.worker SET beat_at = '-infinity' WHERE worker_id = $1",
                [.int(worker)]
            )
            try await administration.delete()
            let gone = await #expect(throws: FleetError.self) { try await administration.delete() }
            #expect(gone?.message.contains("There is no queue haul") == true)
            // The name is free for another queue.
            #expect(try await SchemaInstaller(database.connection, .standard).install())
            #expect(try await administration.status().totals.items == 0)
        }
    }

    @Test func aSchemaWithOtherTablesOrWithoutAQueueIsNotDeleted() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            _ = try await database.connection.run("CREATE TABLE haul.invoices (number integer)")
            let administration = QueueAdministration(database.connection, .standard)
            let error = await #expect(throws: FleetError.self) { try await administration.delete() }
            #expect(error?.message.contains("\"invoices\"") == true)
            #expect(try await administration.status().totals.items == 1)
            _ = try await database.connection.run("CREATE SCHEMA app")
            _ = try await database.connection.run("CREATE TABLE app.item (number integer)")
            let app = QueueAdministration(database.connection, try QueueName("app"))
            await #expect(throws: FleetError.self) { try await app.delete() }
            #expect(try await database.connection.run("SELECT number FROM app.item").count == 0)
        }
    }
}
