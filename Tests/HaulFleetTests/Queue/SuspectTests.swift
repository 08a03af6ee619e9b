import Testing

@testable import HaulFleet

/// Items that were lost with several workers. Each is tried alone before it fails, because the other items of a lost
/// worker are not the reason for its end.
@Suite(.timeLimit(.minutes(60))) struct SuspectTests {
    /// Loses items with as many workers of one work folder as makes them suspects, and makes them due.
    ///
    /// - Returns: the last worker, which has no lease.
    private func makeSuspects(_ count: Int, _ database: TestDatabase) async throws -> WorkerID {
        let queue = database.queue()
        var worker = try await queue.register(label: "one", predecessor: nil).worker
        #expect(try await queue.claim(worker, limit: count).leases.count == count)
        let second = try await queue.register(label: "one", predecessor: worker)
        #expect(second.leases.count == count, "the first loss may have any reason")
        worker = try await restart(second.worker, queue)
        #expect(try await database.count("later WHERE alone AND losses = 2") == count)
        #expect(try await database.count("done") == 0)
        try await database.sql("UPDATE later SET due_at = now()")
        return worker
    }

    private func restart(_ worker: WorkerID, _ queue: PostgresQueue) async throws -> WorkerID {
        _ = try await queue.beat(worker)
        let successor = try await queue.register(label: "one", predecessor: worker)
        #expect(successor.leases.isEmpty)
        return successor.worker
    }

    private func retryNow(_ database: TestDatabase) async throws {
        try await database.sql("UPDATE later SET due_at = now()")
    }

    @Test func onlyTheItemFailsThatEndsItsWorkerAlone() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(40)
            let queue = database.queue()
            var worker = try await makeSuspects(40, database)
            // Item 7 ends each worker. The others are tried without it.
            for _ in 0..<60 where try await database.count("done") < 40 {
                let leases = try await queue.claim(worker, limit: 128).leases
                #expect(leases.count == 1, "a suspect is tried alone")
                let key = try #require(leases.first).key
                #expect(try await queue.claim(worker, limit: 128).leases.isEmpty, "and nothing beside it")
                if key.item == 7 {
                    worker = try await restart(worker, queue)
                    try await retryNow(database)
                } else {
                    let file = CompletedFile(bytes: 1, sha256: Array(repeating: 1, count: 32))
                    #expect(try await queue.report(worker, [Report(key, .completed(file))]) == [key])
                }
            }
            let text = "SELECT item_id, failure_kind, failure_message FROM done WHERE outcome = 1"
            let failed = try await database.sql(text)
            #expect(try failed.map { try $0.int(0, as: Int.self) } == [7])
            #expect(try failed.first?.text(1) == "worker_lost")
            #expect(try failed.first?.text(2).hasPrefix("4 workers ended without a report") == true)
            #expect(try await database.count("done WHERE outcome = 0") == 39)
        }
    }

    @Test func aSuspectThatIsGivenBackStaysOne() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            let queue = database.queue()
            let worker = try await makeSuspects(1, database)
            let key = try #require(try await queue.claim(worker, limit: 9).leases.first).key
            let report = Report(key, .returned)
            #expect(try await queue.report(worker, [report]) == [key])
            #expect(try await queue.report(worker, [report]) == [key], "a repeated report")
            #expect(try await queue.maintain().promotedItems == 0)
            #expect(try await queue.claim(worker, limit: 9).leases.count == 1)
            try await queue.leave(worker)
            #expect(try await database.count("later WHERE alone AND losses = 2 AND attempt = 0") == 1)
        }
    }

    @Test func aSuspectKeepsToTheLimitsOfItsHost() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(3)
            let queue = database.queue()
            let worker = try await makeSuspects(2, database)
            try await database.sql("UPDATE host SET max_connections = 4")
            let other = try await queue.register(label: "two", predecessor: nil).worker
            // The other worker has no lease either.
            #expect(try await queue.claim(other, limit: 9).leases.map(\.connections) == [4])
            #expect(try await queue.claim(worker, limit: 9).leases.isEmpty, "the host is full")
            try await queue.leave(other)
            try await queue.block(hostID: 1, for: .seconds(3600))
            #expect(try await queue.claim(worker, limit: 9).leases.isEmpty, "the host is blocked")
            try await database.sql(
                "UPDATE host SET blocked_until = '-infinity', next_at = '-infinity', max_connections = NULL, gap_ms = 60000"
            )
            let lease = try #require(try await queue.claim(worker, limit: 9).leases.first)
            #expect(lease.startsAfter ?? .seconds(1) <= .zero)
            let third = try await queue.register(label: "three", predecessor: nil).worker
            #expect(try await queue.claim(third, limit: 9).leases.isEmpty, "the gap has not passed")
        }
    }

    @Test func oneWorkerMakesRoomForSuspectsThatWaitLong() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            let queue = database.queue()
            _ = try await makeSuspects(1, database)
            try await database.ready(100, prefix: "g")
            try await database.sql("UPDATE later SET due_at = now() + interval '1 hour'")
            let (one, other) = (
                try await queue.register(label: "two", predecessor: nil).worker,
                try await queue.register(label: "three", predecessor: nil).worker
            )
            for worker in [one, other] { #expect(try await queue.claim(worker, limit: 5).leases.count == 5) }
            try await retryNow(database)
            #expect(try await queue.claim(one, limit: 5).leases.count == 5, "it has waited for a moment only")
            try await database.sql("UPDATE later SET due_at = now() - interval '2 minutes'")
            let empty = try await queue.claim(one, limit: 5)
            #expect(empty.leases.isEmpty && !empty.isDrained)
            #expect(try await queue.claim(other, limit: 5).leases.count == 5, "one worker is enough")
            let keys = try await database.sql("SELECT item_id, epoch FROM lease WHERE worker_id = $1", [.int(one)])
                .map { try LeaseKey(item: $0.int(0), epoch: $0.int(1)) }
            #expect(try await queue.report(one, keys.map { Report($0, .returned) }).count == 10)
            let suspect = try await queue.claim(one, limit: 5).leases
            #expect(suspect.map(\.key.item) == [1])
            let failure = Failure("gone", "It is gone.")
            #expect(try await queue.report(one, suspect.map { Report($0.key, .failed(failure)) }).count == 1)
            #expect(try await queue.claim(one, limit: 5).leases.count == 5, "it claims as usual again")
            #expect(try await database.count("worker WHERE makes_room") == 0)
        }
    }
}
