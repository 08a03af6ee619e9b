import Foundation
import Synchronization
import Testing

@testable import HaulFleet

@Suite(.timeLimit(.minutes(60)))
struct QueueHostTests {
    @Test func leasesNeverHoldMoreConnectionsThanAHostAllows() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            try await administration.setLimits(host: "a.example", gap: .zero, maxConnections: 4)
            try await database.ready(10)
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let first = try await queue.claim(worker, limit: 3).leases
            #expect(first.map(\.connections) == [1, 1, 1])
            let second = try await queue.claim(worker, limit: 3).leases
            #expect(second.map(\.connections) == [1])
            let full = try await queue.claim(worker, limit: 3)
            #expect(full.leases.isEmpty && !full.isDrained)
            // Reported leases release their connections.
            _ = try await queue.report(worker, first.map { Report($0.key, .returned) })
            #expect(try await queue.claim(worker, limit: 9).leases.count == 3)
            #expect(try await database.sql("SELECT sum(connections) FROM lease").first?.int(0) == 4)
        }
    }

    @Test func aSingleFileMayUseAllConnectionsOfItsHost() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            try await administration.setLimits(host: "a.example", gap: .zero, maxConnections: 5)
            try await database.ready(1)
            try await administration.setLimits(host: "b.example", gap: .zero, maxConnections: 5)
            try await database.ready(2, host: "b.example")
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let leases = try await queue.claim(worker, limit: 10).leases
            #expect(leases.filter { $0.url.contains("a.example") }.map(\.connections) == [5])
            #expect(leases.filter { $0.url.contains("b.example") }.compactMap(\.connections).sorted() == [2, 3])
        }
    }

    @Test func theLimitsOfAHostAreFoundByItsName() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            try await administration.setLimits(host: "a.example", gap: .milliseconds(500), maxConnections: 4)
            let queue = database.queue()
            let limits = try #require(try await queue.hostLimits("a.example"))
            #expect(limits.gap == .milliseconds(500) && limits.isLimited && limits.blocked == .zero)
            try await queue.block(hostID: limits.hostID, for: .seconds(3600))
            #expect(try #require(try await queue.hostLimits("a.example")).blocked > .seconds(3000))
            #expect(try await queue.hostLimits("b.example") == nil)
            try await administration.setLimits(host: "c.example", gap: nil, maxConnections: nil)
            let shown = try await administration.host("A.Example")
            #expect(shown.name == "a.example" && shown.gapMilliseconds == 500 && shown.maxConnections == 4)
            await expectError(.invalidInput) { _ = try await administration.host("b.example") }
            await expectError(.invalidInput) { _ = try await administration.host("a b") }
        }
    }

    /// With and without a limit, because claims of the two find their items in different ways.
    @Test(arguments: [nil, 4] as [Int32?])
    func nothingOfAPausedHostIsGivenOut(_ connections: Int32?) async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            if let connections {
                try await administration.setLimits(host: "a.example", gap: nil, maxConnections: connections)
            }
            try await database.ready(3)
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let held = try await queue.claim(worker, limit: 1).leases
            #expect(held.count == 1)
            try await administration.setPaused(true, host: "A.example")
            #expect(try await administration.host("a.example").isPaused)
            let paused = try await queue.claim(worker, limit: 3)
            // The answer has no time, so that the worker asks at its usual intervals.
            #expect(paused.leases.isEmpty && !paused.isDrained && paused.nextDue == nil)
            let id = try #require(held.first?.hostID)
            // Workers ask again within a minute.
            let blocked = try #require(try await queue.beat(worker).blockedHosts[id])
            #expect(blocked > .seconds(50) && blocked <= .seconds(60))
            #expect(try #require(try await queue.hostLimits("a.example")).blocked > .seconds(50))
            #expect(try #require(try await queue.reserve(hostID: id, requests: 1)).startsAfter > .seconds(50))
            try await administration.setPaused(false, host: "a.example")
            #expect(try await queue.beat(worker).blockedHosts.isEmpty)
            #expect(try await queue.claim(worker, limit: 3).leases.count == 2)
            await expectError(.invalidInput) { try await administration.setPaused(true, host: "b.example") }
        }
    }

    @Test func aSuspectOfAPausedHostKeepsNoWorkerFromItsItems() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            try await database.ready(1)
            try await database.ready(4, host: "b.example")
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            _ = try await database.sql(
                """
                WITH gone AS (DELETE FROM ready WHERE host_id = (SELECT host_id FROM host WHERE name = 'a.example') \
                RETURNING *)
                INSERT INTO later (item_id, host_id, prio, attempt, losses, epoch, alone, due_at, failure_kind)
                SELECT item_id, host_id, prio, attempt, losses, epoch, true, now() - interval '1 hour', 'worker_lost'
                FROM gone
                """
            )
            try await administration.setPaused(true, host: "a.example")
            #expect(try await queue.claim(worker, limit: 1).leases.map(\.url) == ["https://b.example/f0"])
            // The worker has leases, and the suspect has been due for an hour.
            #expect(try await queue.claim(worker, limit: 1).leases.count == 1)
            try await administration.setPaused(false, host: "a.example")
            #expect(try await queue.claim(worker, limit: 1).leases.isEmpty, "the worker makes room")
        }
    }

    /// Covers failure 12 of docs/fleet.md. The limit counts rows of leases, so a crash leaves no counter to correct.
    @Test func theLimitOfAHostRecoversFromACrash() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            try await administration.setLimits(host: "a.example", gap: .zero, maxConnections: 4)
            try await database.ready(8)
            let queue = database.queue()
            let crashed = try await queue.register(label: "one", predecessor: nil).worker
            let other = try await queue.register(label: "two", predecessor: nil).worker
            #expect(try await queue.claim(crashed, limit: 8).leases.count == 4)
            #expect(try await queue.claim(other, limit: 8).leases.isEmpty)
            try await database.expire(crashed)
            #expect(try await queue.maintain().lostWorkers == [crashed])
            #expect(try await queue.claim(other, limit: 8).leases.count == 4)
            let census = try await database.census()
            #expect(census.items == census.rows)
        }
    }

    @Test func aBlockedHostIsGivenToNobodyAndItsHoldersHearOfIt() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(4)
            try await database.ready(1, host: "b.example")
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let other = try await queue.register(label: "two", predecessor: nil).worker
            let lease = try #require(try await queue.claim(worker, limit: 1).leases.first)
            try await queue.block(hostID: lease.hostID, for: .seconds(7200))
            try await queue.block(hostID: lease.hostID, for: .seconds(10))
            let blocked = try #require(try await queue.beat(worker).blockedHosts[lease.hostID])
            #expect(blocked > .seconds(3600) && blocked <= .seconds(7200))
            #expect(try await queue.beat(other).blockedHosts.isEmpty)
            let rest = try await queue.claim(other, limit: 10).leases
            #expect(rest.allSatisfy { $0.hostID != lease.hostID })
            let empty = try await queue.claim(other, limit: 10)
            #expect(try #require(empty.nextDue) > .seconds(3600))
            #expect(try await queue.reserve(hostID: lease.hostID, requests: 1).startsAfter > .seconds(3600))
        }
    }

    @Test func furtherRequestsAreSpacedToo() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            // The gap is an hour, so that seconds between two calls on a busy machine do not matter.
            let hour = Duration.seconds(3600)
            try await administration.setLimits(host: "a.example", gap: hour, maxConnections: nil)
            try await database.ready(3)
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let leases = try await queue.claim(worker, limit: 3).leases
            let first = try #require(leases.first)
            #expect(leases.count == 1 && first.gap == hour)
            #expect(try #require(first.startsAfter) <= .zero)
            let host = try #require(leases.first).hostID
            let slice = try await queue.reserve(hostID: host, requests: 3)
            #expect(slice.gap == hour && slice.startsAfter > hour / 2 && slice.startsAfter <= hour)
            let next = try await queue.reserve(hostID: host, requests: 1)
            #expect(next.startsAfter > hour * 3.5 && next.startsAfter <= hour * 4)
            // A successor inherits the lease without a start time and has to reserve one.
            let successor = try await queue.register(label: "one", predecessor: worker)
            #expect(successor.leases.count == 1 && successor.leases.first?.startsAfter == nil)
        }
    }

    /// Covers failure 10 of docs/fleet.md.
    ///
    /// Queueing claimers would be a hundred waiting ones in each sample. A single one can wait: see `claim` in
    /// claim.sql.
    @Test func twoHundredClaimersKeepTheGapOfAHostAndDoNotQueueForIt() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            try await administration.setLimits(host: "a.example", gap: .milliseconds(5), maxConnections: nil)
            let items = 300
            try await database.ready(items)
            let queue = database.queue()
            var workers: [WorkerID] = []
            for number in 0..<200 {
                workers.append(try await queue.register(label: "\(number)", predecessor: nil).worker)
            }
            let isOver = Mutex(false)
            let watch = Task {
                var (waits, samples) = (0, 0)
                let text = """
                    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                        AND wait_event_type = 'Lock' AND wait_event IN ('tuple', 'transactionid')
                    """
                while !isOver.withLock({ $0 }) {
                    let rows = try await database.sql(text)
                    waits += try #require(rows.first).int(0)
                    samples += 1
                }
                return (waits, samples)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in workers {
                    group.addTask {
                        let queue = database.queue()
                        defer { queue.close() }
                        while try await database.count("ready") > 0 {
                            _ = try await queue.claim(worker, limit: 3)
                            try await Task.sleep(for: .milliseconds(Int.random(in: 1...40)))
                        }
                    }
                }
                try await group.waitForAll()
            }
            isOver.withLock { $0 = true }
            let (waits, samples) = try await watch.value
            #expect(samples > 0 && waits < samples)
            #expect(try await database.count("lease") == items)
            let gaps = """
                (SELECT starts_at - lag(starts_at) OVER (ORDER BY starts_at) AS gap FROM lease) g
                WHERE gap < interval '5 ms'
                """
            #expect(try await database.count(gaps) == 0)
        }
    }

    @Test func aClaimPassesOverAHostThatIsLocked() async throws {
        try await TestDatabase.with { database async throws in
            let administration = QueueAdministration(database.connection, .standard)
            try await administration.setLimits(host: "a.example", gap: .zero, maxConnections: 1)
            try await database.ready(1)
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let holder = DatabaseConnection(database.settings)
            defer { holder.close() }
            _ = try await holder.perform(timeout: .seconds(600)) { session throws(FleetError) in
                _ = try session.execute("BEGIN")
                return try session.execute("SELECT 1 FROM haul.host FOR UPDATE")
            }
            #expect(try await queue.claim(worker, limit: 1).leases.isEmpty)
            _ = try await holder.perform(timeout: .seconds(600)) { session throws(FleetError) in
                try session.execute("ROLLBACK")
            }
            #expect(try await queue.claim(worker, limit: 1).leases.count == 1)
        }
    }
}
