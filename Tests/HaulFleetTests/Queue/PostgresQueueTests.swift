import Foundation
import Testing

@testable import HaulFleet

@Suite(.timeLimit(.minutes(60)))
struct PostgresQueueTests {
    private static let file = CompletedFile(bytes: 10, sha256: Array(repeating: 7, count: 32))

    @Test func aClaimGivesItemsAndAReportEndsThem() async throws {
        try await TestDatabase.with { database async throws in
            let queue = database.queue()
            try await database.add([
                NewItem(
                    key: "k",
                    url: "https://a.example/x?y",
                    path: "dir/x",
                    checksum: "sha-256:00",
                    size: 5,
                    metadata: #"{"a": "\\ \" \t"}"#
                )
            ])
            let worker = try await queue.register(label: "one", predecessor: nil)
            #expect(worker.leaseTime == .seconds(TestDatabase.leaseSeconds))
            #expect(try await queue.claim(worker.worker, limit: 10).nextDue == .milliseconds(100))
            #expect(try await queue.maintain().fedItems == 1)
            let claim = try await queue.claim(worker.worker, limit: 10)
            let lease = try #require(claim.leases.first)
            #expect(claim.leases.count == 1)
            #expect(lease.url == "https://a.example/x?y" && lease.path == "dir/x" && lease.checksum == "sha-256:00")
            #expect(lease.size == 5 && lease.metadata == #"{"a": "\\ \" \t"}"# && lease.attempt == 1)
            #expect(lease.key.epoch == 1 && lease.connections == nil && lease.startsAfter == nil)
            #expect(try await queue.gate(worker.worker, [lease.key]) == [lease.key])
            let report = Report(lease.key, .completed(Self.file))
            #expect(try await queue.report(worker.worker, [report]) == [lease.key])
            #expect(try await database.places(lease.key.item) == ["done"])
            // Repeats the report, as after a lost answer.
            #expect(try await queue.report(worker.worker, [report]) == [lease.key])
            #expect(try await queue.gate(worker.worker, [lease.key]).isEmpty)
            #expect(try await queue.claim(worker.worker, limit: 10).isDrained)
            #expect(try await database.count("done WHERE sha256 = decode(repeat('07', 32), 'hex') AND bytes = 10") == 1)
        }
    }

    @Test func theSameListAddsNothingTwice() async throws {
        try await TestDatabase.with { database async throws in
            let items = (0..<1000).map { NewItem(url: "https://h\($0 % 7).example/\($0)") }
            #expect(try await database.add(items, chunk: 300) == .init(added: 1000, present: 0))
            #expect(try await database.add(items + items, chunk: 300) == .init(added: 0, present: 2000))
            #expect(try await database.count("item") == 1000)
            #expect(try await database.count("host") == 7)
        }
    }

    @Test func aReportOfAnotherEpochChangesNothing() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let key = try #require(try await queue.claim(worker, limit: 1).leases.first?.key)
            let old = LeaseKey(item: key.item, epoch: key.epoch - 1)
            #expect(try await queue.report(worker, [Report(old, .completed(Self.file))]).isEmpty)
            #expect(try await queue.gate(worker, [old]).isEmpty)
            #expect(try await !queue.recordUpload(worker, old, uploadID: "u"))
            #expect(try await database.places(key.item) == ["lease"])
        }
    }

    @Test func theItemsOfADeadWorkerReturnAndItsReportsAreFenced() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(3)
            let queue = database.queue()
            let dead = try await queue.register(label: "one", predecessor: nil).worker
            let leases = try await queue.claim(dead, limit: 3).leases
            #expect(leases.count == 3)
            #expect(try await queue.maintain().lostWorkers.isEmpty)
            try await database.expire(dead)
            let maintenance = try await queue.maintain()
            #expect(maintenance.lostWorkers == [dead] && maintenance.returnedItems == 3)
            #expect(try await queue.report(dead, leases.map { Report($0.key, .completed(Self.file)) }).isEmpty)
            #expect(try await queue.gate(dead, leases.map(\.key)).isEmpty)
            await expectError(.workerUnknown) { _ = try await queue.beat(dead) }
            await expectError(.workerUnknown) { _ = try await queue.claim(dead, limit: 1) }
            try await database.sql("UPDATE later SET due_at = now()")
            // A slow first `maintain` may already have promoted some of the items.
            #expect(try await queue.maintain().promotedItems + maintenance.promotedItems == 3)
            let other = try await queue.register(label: "one", predecessor: nil).worker
            #expect(other != dead)
            let again = try await queue.claim(other, limit: 3).leases
            #expect(Set(again.map(\.key)) == Set(leases.map { LeaseKey(item: $0.key.item, epoch: 2) }))
            #expect(again.allSatisfy { $0.attempt == 1 })
        }
    }

    @Test func anItemThatIsTriedAgainEndsAfterItsAttempts() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            try await database.sql("UPDATE setting SET max_attempts = 2")
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let first = try #require(try await queue.claim(worker, limit: 1).leases.first)
            let failure = Failure("http_503", "The server said {\"no\\\"}.")
            let retry = Report(first.key, .retry(failure, delay: .seconds(7200)))
            #expect(try await queue.report(worker, [retry]) == [first.key])
            #expect(try await queue.report(worker, [retry]) == [first.key])
            #expect(try await database.places(first.key.item) == ["later"])
            let due = try #require(try await queue.claim(worker, limit: 1).nextDue)
            #expect(due > .seconds(3600) && due <= .seconds(7200))
            try await database.sql("UPDATE later SET due_at = now()")
            #expect(try await queue.maintain().promotedItems == 1)
            #expect(try await queue.report(worker, [retry]) == [first.key])
            let second = try #require(try await queue.claim(worker, limit: 1).leases.first)
            #expect(second.attempt == 2 && second.key.epoch == 2)
            #expect(try await queue.report(worker, [Report(second.key, .retry(failure, delay: .zero))]) == [second.key])
            #expect(try await database.places(first.key.item) == ["done"])
            let message = try await database.sql("SELECT failure_message FROM done WHERE outcome = 1").first?.text(0)
            #expect(message == failure.message)
        }
    }

    @Test func returnedItemsAreReadyAtOnceAndCountNoAttempt() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(2)
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let leases = try await queue.claim(worker, limit: 2).leases
            let first = try #require(leases.first)
            let report = Report(first.key, .returned)
            #expect(try await queue.report(worker, [report]).count == 1)
            #expect(try await queue.report(worker, [report]).count == 1)
            try await queue.leave(worker)
            try await queue.leave(worker)
            let other = try await queue.register(label: "two", predecessor: nil).worker
            let again = try await queue.claim(other, limit: 5).leases
            #expect(again.count == 2 && again.allSatisfy { $0.attempt == 1 && $0.key.epoch == 2 })
        }
    }

    @Test func aSuccessorTakesTheLeasesOver() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(2)
            let queue = database.queue()
            let first = try await queue.register(label: "one", predecessor: nil).worker
            let keys = try await queue.claim(first, limit: 2).leases.map(\.key)
            #expect(try await queue.recordUpload(first, keys[0], uploadID: "upload"))
            // The answer to the first attempt is lost.
            _ = try await queue.register(label: "one", predecessor: first)
            let successor = try await queue.register(label: "one", predecessor: first)
            #expect(Set(successor.leases.map(\.key.item)) == Set(keys.map(\.item)))
            #expect(successor.leases.compactMap(\.uploadID) == ["upload"])
            #expect(try await queue.report(first, [Report(keys[0], .returned)]).isEmpty)
            let current = successor.leases.map(\.key)
            #expect(try await queue.gate(successor.worker, current) == Set(current))
            // The predecessor counts as lost. The registration without an answer does not.
            #expect(try await database.count("lease WHERE losses = 1") == 2)
        }
    }

    @Test func aWorkerOfAnotherTimelineMustRegisterAgain() async throws {
        try await TestDatabase.with { database async throws in
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            try await database.sql("UPDATE worker SET timeline = timeline + 1")
            await expectError(.workerUnknown) { _ = try await queue.beat(worker) }
            await expectError(.workerUnknown) { _ = try await queue.claim(worker, limit: 1) }
        }
    }
}
