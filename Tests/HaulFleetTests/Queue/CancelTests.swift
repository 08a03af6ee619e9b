import Testing

@testable import HaulFleet

/// Cancelled items, wherever they wait.
@Suite(.timeLimit(.minutes(60))) struct CancelTests {
    private let file = CompletedFile(bytes: 1, sha256: Array(repeating: 1, count: 32))

    private func administration(_ database: TestDatabase) -> QueueAdministration {
        QueueAdministration(database.connection, .standard)
    }

    private func cancelled(_ database: TestDatabase) async throws -> [Int] {
        let text = "SELECT item_id FROM done WHERE failure_kind = 'cancelled' ORDER BY item_id"
        return try await database.sql(text).map { try $0.int(0, as: Int.self) }
    }

    @Test func itemsOfAHostAreCancelledWhereverTheyWait() async throws {
        try await TestDatabase.with { database async throws in
            let (queue, administration) = (database.queue(), administration(database))
            // Items 1 to 30 of three hosts: of each one leased, one about to be published, one that waits for its next
            // attempt. The others are ready.
            try await database.add((0..<30).map { NewItem(url: "https://h\($0 % 3).example/\($0)") })
            try await database.sql("SELECT feed()")
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let leases = try await queue.claim(worker, limit: 9).leases
            let hosts = Set(leases.map(\.hostID))
            #expect(hosts.count == 3)
            let keys = leases.sorted { $0.key < $1.key }.map(\.key)
            let gated = Array(keys[3..<6])
            #expect(try await queue.gate(worker, gated).count == 3)
            let broken = keys[6...].map { Report($0, .retry(Failure("network", "It broke."), delay: .seconds(900))) }
            #expect(try await queue.report(worker, broken).count == 3)
            // The lists of a later call of add are not fed yet.
            try await database.add((30..<60).map { NewItem(url: "https://h\($0 % 3).example/\($0)") })

            let result = try await administration.cancel(.host("h1.example"))
            #expect(result.cancelled == 19 && result.publishing == 1, "\(result)")
            let ofHost = Set((0..<60).filter { $0 % 3 == 1 }.map { $0 + 1 })
            let published = Set(gated.map { Int($0.item) })
            #expect(try await Set(cancelled(database)) == ofHost.subtracting(published))
            #expect(try await database.census() == (60, 60))
            #expect(try await administration.cancel(.host("h1.example")) == .init(cancelled: 0, publishing: 1))

            let beat = try await queue.beat(worker)
            #expect(beat.cancelled.map(\.item) == keys[0..<3].map(\.item).filter { ofHost.contains(Int($0)) })
            #expect(try await queue.beat(worker).cancelled == beat.cancelled, "the answer to the first may be lost")
            #expect(try await queue.gate(worker, beat.cancelled).isEmpty)
            #expect(try await queue.report(worker, beat.cancelled.map { Report($0, .completed(file)) }).isEmpty)
            #expect(try await queue.report(worker, gated.map { Report($0, .completed(file)) }).count == 3)

            let totals = try await administration.status().totals
            #expect(totals.cancelled == 19 && totals.failed == 0 && totals.completed == 3)
            #expect(
                totals.unfed + totals.ready + totals.later + totals.leased + totals.completed + totals.cancelled
                    == totals.items
            )
            #expect(try await administration.failedItems() == 0)
            let all = try await administration.cancel(.all)
            #expect(all == .init(cancelled: 60 - 19 - 3, publishing: 0))
            #expect(try await administration.isDrained())
            #expect(try await queue.claim(worker, limit: 9).isDrained)
            #expect(try await database.sql("SELECT sum(items - fed_items) FROM batch").first?.int(0) == 0)
        }
    }

    @Test func oneItemIsCancelledAmongThoseThatWerePassedOver() async throws {
        try await TestDatabase.with { database async throws in
            let administration = administration(database)
            // 50,000 items of one host are ready, the others are passed over: a whole range, and numbers.
            let slow = (0..<110_000).map { NewItem(url: "https://slow.example/\($0)") }
            let mixed = (0..<2000).map {
                NewItem(url: "https://\($0 % 20 == 0 ? "slow" : "h\($0 % 20)").example/m\($0)")
            }
            try await database.add(slow)
            try await database.add(mixed)
            try await database.sql("UPDATE starvation SET at = clock_timestamp()")
            while try await database.sql("SELECT feed()").first?.int(0, as: Int.self) ?? 0 > 0 {
                try await database.sql("UPDATE feed SET checked_at = '-infinity'")
            }
            #expect(try await database.count("passed WHERE ids IS NULL") > 0)
            #expect(try await database.count("passed WHERE ids IS NOT NULL") > 0)
            let before = try await database.sql("SELECT sum(items) FROM passed").first?.int(0, as: Int.self) ?? 0
            // Ready, in a range, and among numbers.
            for item in [7, 105_000, 110_041] as [Int64] {
                #expect(try await administration.cancel(.item(item)).cancelled == 1, "item \(item)")
                #expect(try await administration.cancel(.item(item)).cancelled == 0, "item \(item)")
            }
            #expect(try await cancelled(database) == [7, 105_000, 110_041])
            #expect(try await database.sql("SELECT sum(items) FROM passed").first?.int(0) == before - 2)
            #expect(try await database.census() == (112_000, 112_000))
            // The rest is fed, each item once.
            let text = """
                WITH gone AS (DELETE FROM ready RETURNING item_id, host_id),
                empty AS (UPDATE host SET has_ready = false WHERE host_id IN (SELECT host_id FROM gone))
                SELECT item_id FROM gone
                """
            var seen: [Int64] = []
            repeat {
                seen += try await database.sql(text).map { try $0.int(0) }
                try await database.sql("UPDATE feed SET checked_at = '-infinity'")
            } while try await database.sql("SELECT feed()").first?.int(0, as: Int.self) ?? 0 > 0
            #expect(seen.count == 111_997 && Set(seen).count == 111_997)
            #expect(try await database.count("batch WHERE fed_items <> items") == 0)
            #expect(try await database.count("host WHERE has_passed") == 0)
        }
    }

    @Test func aHostIsCancelledInALongListThatIsNotFed() async throws {
        try await TestDatabase.with { database async throws in
            let administration = administration(database)
            try await database.add((0..<120_000).map { NewItem(url: "https://h\($0 % 4).example/\($0)") })
            #expect(try await administration.cancel(.host("h2.example")).cancelled == 30_000)
            #expect(try await database.census() == (120_000, 120_000))
            #expect(try await administration.status().totals.cancelled == 30_000)
            #expect(try await database.count("ready r JOIN host h USING (host_id) WHERE h.name = 'h2.example'") == 0)
            // Items of the host that are added later are not cancelled.
            try await database.add([NewItem(url: "https://h2.example/new")])
            try await database.sql("UPDATE starvation SET at = clock_timestamp()")
            try await database.sql("SELECT feed()")
            #expect(try await database.count("ready r JOIN host h USING (host_id) WHERE h.name = 'h2.example'") == 1)
        }
    }

    @Test func aCancellationIsTakenBackOnlyByName() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(4)
            let (queue, administration) = (database.queue(), administration(database))
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let first = try #require(try await queue.claim(worker, limit: 1).leases.first).key
            _ = try await queue.report(worker, [Report(first, .failed(Failure("gone", "It is gone.")))])
            #expect(try await administration.cancel(.all).cancelled == 3)
            func listed(_ state: ItemState, kind: String? = nil) async throws -> Int {
                try await administration.list(.init(state, failureKind: kind)).count
            }
            #expect(try await listed(.failed) == 1)
            #expect(try await listed(.failed, kind: "gone") == 1)
            #expect(try await listed(.cancelled) == 3)
            #expect(try await listed(.failed, kind: "cancelled") == 3)
            #expect(try await administration.retry() == 1, "the failed one")
            #expect(try await administration.status().totals.cancelled == 3)
            #expect(try await administration.retry(.init(item: 4)) == 1)
            #expect(try await administration.retry(.init(kind: "cancelled")) == 2)
            let totals = try await administration.status().totals
            #expect(totals.cancelled == 0 && totals.failed == 0 && totals.later == 4)
            try await database.sql("SELECT promote(100)")
            let leases = try await queue.claim(worker, limit: 9).leases
            #expect(leases.count == 4)
            #expect(leases.first { $0.key.item == first.item }?.key.epoch == first.epoch + 1)
            #expect(try await queue.report(worker, leases.map { Report($0.key, .completed(file)) }).count == 4)
            #expect(try await queue.claim(worker, limit: 9).isDrained)
        }
    }

    @Test func anUploadOfACancelledItemIsAborted() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            let key = try #require(try await queue.claim(worker, limit: 1).leases.first).key
            #expect(try await queue.recordUpload(worker, key, uploadID: "u1"))
            #expect(try await administration(database).cancel(.item(1)).cancelled == 1)
            #expect(try await queue.orphanUploads(limit: 9).map(\.uploadID) == ["u1"])
            #expect(try await !queue.recordUpload(worker, key, uploadID: "u2"))
        }
    }

    @Test func unknownNamesAreRefused() async throws {
        try await TestDatabase.with { database async throws in
            try await database.ready(1)
            let administration = administration(database)
            await expectError(.invalidInput) { _ = try await administration.cancel(.host("other.example")) }
            await expectError(.invalidInput) { _ = try await administration.cancel(.item(2)) }
            #expect(try await database.count("ready") == 1)
        }
    }

    /// Cancellations race claims, reports and the feeder. Each item ends in one place.
    @Test func cancellationsRaceWorkers() async throws {
        try await TestDatabase.with { database async throws in
            try await database.add((0..<6000).map { NewItem(url: "https://h\($0 % 5).example/\($0)") })
            let file = file
            try await withThrowingTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        let queue = database.queue()
                        let worker = try await queue.register(label: "racer", predecessor: nil).worker
                        while true {
                            let claim = try await queue.claim(worker, limit: 40)
                            if claim.isDrained { return }
                            if claim.leases.isEmpty { _ = try await queue.maintain() }
                            let held = try await queue.gate(
                                worker,
                                claim.leases.filter { $0.key.item % 2 == 0 }.map(\.key)
                            )
                            let reports = claim.leases.map { lease in
                                Report(lease.key, held.contains(lease.key) ? .completed(file) : .returned)
                            }
                            let accepted = try await queue.report(worker, reports)
                            #expect(accepted.isSuperset(of: held), "a cancellation takes no item from a publication")
                        }
                    }
                }
                group.addTask {
                    let administration = QueueAdministration(DatabaseConnection(database.settings), .standard)
                    defer { administration.connection.close() }
                    for item in stride(from: Int64(1), to: 400, by: 7) {
                        _ = try await administration.cancel(.item(item))
                    }
                    for host in 0..<5 { _ = try await administration.cancel(.host("h\(host).example")) }
                    // Items with odd numbers are only ever returned.
                    while try await !administration.isDrained() { _ = try await administration.cancel(.all) }
                }
                try await group.waitForAll()
            }
            #expect(try await database.census() == (6000, 6000))
            #expect(try await database.count("done") == 6000)
            let totals = try await administration(database).status().totals
            #expect(totals.completed + totals.cancelled == 6000 && totals.cancelled >= 3000)
            #expect(try await cancelled(database).count == Int(totals.cancelled))
        }
    }
}
