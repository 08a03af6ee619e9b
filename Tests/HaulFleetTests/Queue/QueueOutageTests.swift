import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

@Suite(.timeLimit(.minutes(60)))
struct QueueOutageTests {
    private static let file = CompletedFile(bytes: 10, sha256: Array(repeating: 7, count: 32))

    /// Makes a call again while its connection is not there yet. A queue has several connections, and each waits for
    /// its own next attempt after an outage.
    private func reached<Value>(_ call: () async throws -> Value) async throws -> Value {
        while true {
            do { return try await call() } catch let error as FleetError where error.code == .databaseUnreachable {}
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Covers failure 7 of docs/fleet.md on the side of the database. Committed calls stay, and calls during the outage
    /// fail at once. Leases that expired during the outage are not taken away, because no worker could beat.
    @Test func aKilledServerLosesNothingAndWorkersFindItAgain() async throws {
        let server = try await PostgresServer.start()
        let database = try await server.makeDatabase()
        try await database.ready(20)
        let queue = database.queue()
        defer { queue.close() }
        let worker = try await queue.register(label: "one", predecessor: nil).worker
        let leases = try await queue.claim(worker, limit: 10).leases
        _ = try await queue.report(worker, [Report(leases[0].key, .completed(Self.file))])
        try await server.stop(SIGKILL)
        for _ in 0..<50 {
            await expectError(.databaseUnreachable) { _ = try await queue.beat(worker) }
            await expectError(.databaseUnreachable) {
                _ = try await queue.report(worker, [Report(leases[1].key, .returned)])
            }
        }
        try await server.start()
        // Backdates all beats by a day, as after an outage longer than a lease.
        try await waitUntil("the connection is there again") {
            do { try await database.sql("UPDATE worker SET beat_at = beat_at - interval '1 day'") } catch {
                return false
            }
            return true
        }
        try await waitUntil("the queue answers") {
            do { return try await queue.maintain().lostWorkers.isEmpty } catch { return false }
        }
        #expect(try await database.sql("SELECT state FROM worker").first?.text(0) == "live")
        try await waitUntil("the worker beats") {
            do { _ = try await queue.beat(worker) } catch {
                #expect((error as? FleetError)?.code == .databaseUnreachable)
                return false
            }
            return true
        }
        let keys = Set(leases.map(\.key))
        let reported = try await reached {
            try await queue.report(worker, leases.map { Report($0.key, .completed(Self.file)) })
        }
        #expect(reported == keys)
        #expect(try await database.count("done") == 10)
        database.connection.close()
    }

    @Test func anOutageMakesFewAttemptsToConnect() async throws {
        try await TestDatabase.with { database async throws in
            let proxy = try TestProxy(target: database.server.port)
            defer { proxy.close() }
            let settings = try database.server.settings(database: database.name, port: proxy.port)
            let connections = (0..<20).map { _ in DatabaseConnection(settings) }
            defer { for connection in connections { connection.close() } }
            for connection in connections { _ = try await connection.run("SELECT 1") }
            proxy.setRefusing(true)
            proxy.cut()
            let (before, start) = (proxy.accepted, ContinuousClock.now)
            for _ in 0..<100 {
                for connection in connections {
                    await expectError(.databaseUnreachable) { _ = try await connection.run("SELECT 1") }
                }
                try await Task.sleep(for: .milliseconds(10))
            }
            // The connections make 2,000 calls in all. Attempts of one connection are at least 0.1 s apart, and the
            // limit of the random delay doubles up to 30 s. A busy machine takes minutes for the calls.
            let most = 20 + Int(start.duration(to: .now) / .seconds(5))
            #expect(proxy.accepted - before < most * connections.count)
            #expect(proxy.accepted - before >= connections.count)
            proxy.setRefusing(false)
            for connection in connections {
                try await waitUntil("the connection is there again") {
                    do { _ = try await connection.run("SELECT 1") } catch { return false }
                    return true
                }
            }
        }
    }

    /// Covers failure 8 of docs/fleet.md: a standby that lacks the last commits takes over.
    @Test func afterAFailoverWorkersRegisterAgainAndNoResultIsLost() async throws {
        let primary = try await PostgresServer.start()
        let database = try await primary.makeDatabase()
        try await database.ready(10)
        let proxy = try TestProxy(target: primary.port)
        defer { proxy.close() }
        let queue = PostgresQueue(try primary.settings(database: database.name, port: proxy.port))
        defer { queue.close() }
        let worker = try await queue.register(label: "one", predecessor: nil).worker
        let early = try await queue.claim(worker, limit: 4).leases
        #expect(early.count == 4)
        // The standby has the commits up to here.
        let standby = try await primary.makeStandby()
        #expect(try await queue.report(worker, early.map { Report($0.key, .completed(Self.file)) }).count == 4)
        let late = try await queue.claim(worker, limit: 4).leases
        let lost = try await queue.register(label: "two", predecessor: nil).worker
        try await primary.stop(SIGKILL)
        try await standby.promote()
        proxy.setTarget(standby.port)

        // Both workers are refused: the one whose results are lost, and the one that the standby never saw.
        for id in [worker, lost] {
            try await waitUntil("the beat is refused") {
                do {
                    _ = try await queue.beat(id)
                    Issue.record("The beat was accepted.")
                    return true
                } catch let error as FleetError {
                    #expect([.databaseUnreachable, .workerUnknown].contains(error.code))
                    return error.code == .workerUnknown
                }
            }
            try await waitUntil("the claim is refused") {
                do {
                    _ = try await queue.claim(id, limit: 1)
                    Issue.record("The claim was accepted.")
                    return true
                } catch let error as FleetError { return error.code == .workerUnknown }
            }
        }
        // The queue refuses leases that only the lost commits contained, also after it has granted the items again.
        let after = TestDatabase(
            server: standby,
            name: database.name,
            settings: try standby.settings(database: database.name)
        )
        let new = try await reached { try await queue.register(label: "one", predecessor: nil).worker }
        let again = try await reached { try await queue.claim(new, limit: 10).leases }
        #expect(Set(late.map(\.key)).isSubset(of: Set(again.map(\.key))))
        let accepted = try await reached {
            try await queue.report(worker, late.map { Report($0.key, .completed(Self.file)) })
        }
        #expect(accepted.isEmpty)
        let granted = try await reached { try await queue.gate(worker, late.map(\.key)) }
        #expect(granted.isEmpty)
        // The items whose results are lost become ready again, and each item ends once.
        try await after.expire(worker)
        let lostWorkers = try await reached { try await queue.maintain().lostWorkers }
        #expect(lostWorkers == [worker])
        try await after.sql("UPDATE later SET due_at = now()")
        _ = try await queue.maintain()
        let rest = try await queue.claim(new, limit: 10).leases
        #expect(Set(rest.map(\.key.item)) == Set(early.map(\.key.item)))
        let all = (again + rest).map(\.key)
        #expect(try await queue.report(new, all.map { Report($0, .completed(Self.file)) }) == Set(all))
        #expect(try await after.count("done") == 10)
        #expect(try await queue.claim(new, limit: 10).isDrained)
        after.connection.close()
        database.connection.close()
    }

    /// Runs a test through PgBouncer. The message of an error says what PgBouncer has logged.
    private func withBouncer(_ database: TestDatabase, _ body: (DatabaseSettings) async throws -> Void) async throws {
        let bouncer = try await PgBouncer(database.server, poolSize: 3)
        do { try await body(database.server.settings(database: database.name, port: bouncer.port)) } catch {
            Issue.record("\(error)\n\(bouncer.account)")
        }
    }

    /// Covers failure 15 of docs/fleet.md.
    @Test func twentyClientsWorkThroughThreeServerConnectionsOfPgBouncer() async throws {
        try await TestDatabase.with { database async throws in
            try await withBouncer(database) { try await work(through: $0) }
        }
    }

    private func work(through settings: DatabaseSettings) async throws {
        let loading = DatabaseConnection(settings)
        defer { loading.close() }
        let items = AsyncStream { continuation in
            for number in 0..<4000 { continuation.yield(NewItem(url: "https://h\(number % 9).example/\(number)")) }
            continuation.finish()
        }
        #expect(try await QueueLoader(loading, .standard, chunk: 900).add(items).added == 4000)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for client in 0..<20 {
                group.addTask {
                    let queue = PostgresQueue(settings)
                    defer { queue.close() }
                    let worker = try await queue.register(label: "\(client)", predecessor: nil).worker
                    var reported = 0
                    while true {
                        let claim = try await queue.claim(worker, limit: 40)
                        if claim.isDrained { break }
                        guard !claim.leases.isEmpty else {
                            _ = try await queue.maintain()
                            _ = try await queue.beat(worker)
                            try await Task.sleep(for: .milliseconds(20))
                            continue
                        }
                        let keys = claim.leases.map(\.key)
                        #expect(try await queue.gate(worker, keys) == Set(keys))
                        reported += try await queue.report(worker, keys.map { Report($0, .completed(Self.file)) })
                            .count
                    }
                    try await queue.leave(worker)
                    return reported
                }
            }
            let reported = try await group.reduce(0, +)
            #expect(reported == 4000)
        }
        let administration = QueueAdministration(loading, .standard)
        #expect(try await administration.status().totals.completed == 4000)
        var lines = 0
        for try await page in QueueExport(loading, .standard, format: .jsonLines, pageSize: 1500) {
            lines += page.bytes.count { $0 == UInt8(ascii: "\n") }
        }
        #expect(lines == 4000)
    }
}
