import Testing

@testable import HaulFleet

/// Lists that are added without a look at the keys that the queue has.
@Suite(.timeLimit(.minutes(60))) struct UncheckedLoadTests {
    private func items(_ range: Range<Int>) -> [NewItem] { range.map { NewItem(url: "https://h.example/\($0)") } }

    @Test func theSameListAgainAddsNothing() async throws {
        try await TestDatabase.with { database async throws in
            let list = items(0..<25)
            #expect(try await database.add(list, chunk: 10, checksKeys: false) == .init(added: 25))
            #expect(try await database.add(list, chunk: 10, checksKeys: false) == .init(added: 0, present: 25))
            #expect(try await database.count("url_seen") == 0)
            #expect(try await database.count("chunk_seen") == 3)
            // A longer list begins with the same chunks. Its third one is another, so the items of that are there twice.
            #expect(
                try await database.add(items(0..<30), chunk: 10, checksKeys: false) == .init(added: 10, present: 20)
            )
            #expect(try await database.sql("SELECT feed()").first?.int(0) == 35)
            #expect(try await database.census() == (35, 35))
        }
    }

    @Test func aKeyTwiceInOneChunkIsOneItem() async throws {
        try await TestDatabase.with { database async throws in
            #expect(
                try await database.add(items(0..<5) + items(0..<5), checksKeys: false) == .init(added: 5, present: 5)
            )
        }
    }

    /// Two loaders add the same list at once.
    @Test func aChunkOfTwoLoadersIsAddedOnce() async throws {
        try await TestDatabase.with { database async throws in
            let list = items(0..<2000)
            let added = try await withThrowingTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        let connection = DatabaseConnection(database.settings)
                        defer { connection.close() }
                        let stream = AsyncStream { continuation in
                            for item in list { continuation.yield(item) }
                            continuation.finish()
                        }
                        return try await QueueLoader(connection, .standard, chunk: 100, checksKeys: false).add(stream)
                            .added
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(added == 2000)
            #expect(try await database.count("item") == 2000)
        }
    }

    @Test func aRoleThatMayAddMayAddUnchecked() async throws {
        try await TestDatabase.with { database async throws in
            let role = "loader_\(database.name)"
            try await database.sql("CREATE ROLE \(role) LOGIN")
            try await SchemaInstaller(database.connection, .standard).grant(.loader, to: role)
            let connection = DatabaseConnection(try database.server.settings(database: database.name, user: role))
            let stream = AsyncStream { continuation in
                continuation.yield(NewItem(url: "https://h.example/1"))
                continuation.finish()
            }
            #expect(try await QueueLoader(connection, .standard, checksKeys: false).add(stream).added == 1)
            connection.close()
            try await database.sql("DROP OWNED BY \(role)")
            try await database.sql("DROP ROLE \(role)")
        }
    }
}
