import Testing

@testable import HaulFleet

/// The way of items from their lists to `ready`.
@Suite(.timeLimit(.minutes(60))) struct FeedTests {
    /// Takes all ready items out of the table, as if workers had ended them.
    private func take(_ database: TestDatabase, host: String = "%") async throws -> [Int64] {
        let text = """
            WITH gone AS (DELETE FROM ready r USING host h WHERE h.host_id = r.host_id AND h.name LIKE $1
                RETURNING r.item_id, r.host_id),
            empty AS (UPDATE host SET has_ready = false WHERE host_id IN (SELECT host_id FROM gone))
            SELECT item_id FROM gone
            """
        return try await database.sql(text, [.text(host)]).map { try $0.int(0) }
    }

    private func feed(_ database: TestDatabase, starved: Bool = true) async throws -> Int {
        if starved { try await database.sql("UPDATE starvation SET at = clock_timestamp()") }
        try await database.sql("UPDATE feed SET checked_at = '-infinity'")
        return try await database.sql("SELECT feed()").first?.int(0) ?? -1
    }

    @Test func aHostWithALongListKeepsNoOtherWaiting() async throws {
        try await TestDatabase.with { database async throws in
            let slow = (0..<110_000).map { NewItem(url: "https://slow.example/\($0)", priority: Int16($0 % 3)) }
            let others = (0..<900).map { NewItem(url: "https://h\($0 % 3).example/\($0)") }
            try await database.add(slow + others)
            #expect(try await feed(database, starved: false) == 50_000)
            #expect(try await feed(database, starved: false) == 0, "enough is ready, and no claim found too little")
            // A call ends after half a second, with what it has.
            var fed = 0
            while case let step = try await feed(database), step > 0 { fed += step }
            #expect(fed == 60_900)
            #expect(try await database.count("ready") == 50_900, "what is behind the slow host's items")
            #expect(try await database.count("batch WHERE fed_to < last_id") == 0)
            #expect(try await database.sql("SELECT sum(items) FROM passed").first?.int(0) == 60_000)
            #expect(try await database.census() == (110_900, 110_900))
            // Later items of the host wait behind those that were passed over.
            try await database.add([NewItem(url: "https://slow.example/last")])
            #expect(try await feed(database) == 1)
            #expect(try await database.count("ready") == 50_900)

            let queue = database.queue()
            let worker = try await queue.register(label: "one", predecessor: nil).worker
            var seen = try await take(database)
            let empty = try await queue.claim(worker, limit: 1)
            #expect(empty.leases.isEmpty && !empty.isDrained && empty.nextDue ?? .seconds(9) <= .milliseconds(100))
            while try await feed(database, starved: false) > 0 {
                #expect(try await database.census().rows == 110_901 - seen.count)
                seen += try await take(database)
            }
            #expect(seen.count == 110_901 && Set(seen).count == 110_901, "each item once")
            #expect(try await database.count("passed") == 0)
            #expect(try await database.count("host WHERE has_passed") == 0)
            #expect(try await database.count("batch WHERE fed_items = items") == 4)
            #expect(try await queue.claim(worker, limit: 1).isDrained)
        }
    }

    @Test func aHostIsFedAgainWhenItsShareIsHalfUsedUp() async throws {
        try await TestDatabase.with { database async throws in
            try await database.add((0..<200).map { NewItem(url: "https://h\($0 % 2).example/first/\($0)") })
            #expect(try await feed(database) == 200)
            #expect(try await database.sql("SELECT host_share()").first?.int(0) == 25_000)
            // Items of the other host lie between those that are passed over.
            try await database.add((0..<50_000).map { NewItem(url: "https://h\($0 % 50 == 0 ? 1 : 0).example/\($0)") })
            #expect(try await feed(database) == 50_000)
            #expect(try await database.count("ready") == 25_000 + 1_100)
            #expect(try await database.sql("SELECT items FROM passed").map { try $0.int(0, as: Int.self) } == [24_100])
            #expect(try await feed(database) == 0)
            let first = try await take(database, host: "h0.example").count
            #expect(first == 25_000)
            #expect(try await feed(database) == 24_100)
            #expect(try await take(database).count == 24_100 + 1_100)
        }
    }

    @Test func urgentItemsOfAPartAreReadyFirst() async throws {
        try await TestDatabase.with { database async throws in
            try await database.add((0..<30_000).map { NewItem(url: "https://a.example/first/\($0)") })
            #expect(try await feed(database) == 30_000)
            try await database.add(
                (0..<40_000).map { NewItem(url: "https://a.example/\($0)", priority: Int16($0 % 2)) }
            )
            #expect(try await feed(database) == 40_000)
            #expect(try await database.count("ready WHERE prio = 0") == 20_000)
            #expect(try await database.count("passed WHERE cardinality(ids) = 20000") == 1)
            var seen = try await take(database)
            #expect(try await feed(database) == 20_000)
            seen += try await take(database)
            #expect(seen.count == 70_000 && Set(seen).count == 70_000, "each item once")
        }
    }

    @Test func theListOfItemsShowsThoseThatWerePassedOver() async throws {
        try await TestDatabase.with { database async throws in
            try await database.add((0..<50_010).map { NewItem(url: "https://a.example/\($0)") })
            #expect(try await feed(database) == 50_000)
            #expect(try await feed(database) == 10)
            #expect(try await database.count("passed") == 1)
            let administration = QueueAdministration(database.connection, .standard)
            let unfed = try await administration.list(.init(.unfed))
            #expect(unfed.map(\.url) == (50_000..<50_010).map { "https://a.example/\($0)" })
            #expect(try await administration.status().totals.unfed == 10)
        }
    }
}
