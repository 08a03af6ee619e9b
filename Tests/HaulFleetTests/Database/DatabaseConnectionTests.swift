import Foundation
import Testing

@testable import HaulFleet

@Suite(.timeLimit(.minutes(60)))
struct DatabaseConnectionTests {
    private func connection() async throws -> DatabaseConnection {
        DatabaseConnection(try await PostgresServer.shared().settings())
    }

    @Test func valuesComeBackAsTheyWereSent() async throws {
        let connection = try await connection()
        defer { connection.close() }
        let texts: [String?] = [
            "", "a,b", "{\"x\"}", "\\", "\\\\\"", "NULL", nil, "ü 漢 🎈", "a\nb\tc", " ", "nul\u{0}l",
        ]
        let rows = try await connection.run("SELECT unnest($1::text[])", [.texts(texts)])
        #expect(rows.map { $0.optionalText(0) } == texts.map { $0?.replacing("\u{0}", with: "\u{FFFD}") })
        let bytes: [[UInt8]?] = [[], Array(0...255), nil]
        #expect(
            try await connection.run("SELECT unnest($1::bytea[])", [.byteArrays(bytes)]).map { try $0.optionalBytes(0) }
                == bytes
        )
        let numbers = try await connection.run("SELECT unnest($1::bigint[])", [.ints([Int64.min, 0, .max])])
        #expect(try numbers.map { try $0.int(0, as: Int64.self) } == [.min, 0, .max])
        // A number that does not fit the type, a text, and a NULL are errors.
        let wide = try #require(numbers.first)
        await expectError(.statementFailed) { _ = try wide.int(0, as: Int32.self) }
        let text = try #require(try await connection.run("SELECT 'x', NULL").first)
        await expectError(.statementFailed) { _ = try text.int(0, as: Int32.self) }
        await expectError(.statementFailed) { _ = try text.int(1, as: Int32.self) }
        await expectError(.statementFailed) { _ = try text.text(7) }
    }

    @Test func statementsOfACallAreOneTransaction() async throws {
        try await TestDatabase.with { database async throws in
            let insert = "INSERT INTO haul.host (name) VALUES ('x')"
            await expectError(.statementFailed) {
                _ = try await database.connection.run([
                    SQLStatement(insert), SQLStatement("SELECT 1/0"), SQLStatement(insert),
                ])
            }
            #expect(try await database.count("host") == 0)
            await expectError(.statementFailed) {
                _ = try await database.connection.transaction { session throws(FleetError) in
                    _ = try session.execute(insert)
                    _ = try session.execute("SELECT 1/0")
                }
            }
            #expect(try await database.count("host") == 0)
            _ = try await database.connection.run([SQLStatement(insert), SQLStatement("SELECT 1")])
            #expect(try await database.count("host") == 1)
        }
    }

    /// The first connection has been closed before, the second one is idle, and the third one waits for an answer.
    @Test func everyThreadHasEndedWhenAProcessMayExit() async throws {
        let settings = try await PostgresServer.shared().settings()
        let threads = DatabaseThreads()
        let connections = (0..<3).map { _ in DatabaseConnection(settings, among: threads) }
        for connection in connections { _ = try await connection.run("SELECT 1") }
        connections[0].close()
        let (idle, busy) = (connections[1], connections[2])
        async let answer: Void = expectError(.cancelled) { _ = try await busy.run("SELECT pg_sleep(600)") }
        while try await idle.run("SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'").count == 0 {}
        let isWhole = await Task.detached { threads.end(within: .seconds(3600)) }.value
        #expect(isWhole)
        #expect(threads.count == 0)
        await answer
    }

    @Test func settingsEndWithTheirTransaction() async throws {
        let connection = try await connection()
        defer { connection.close() }
        let inside = try await connection.run("SHOW statement_timeout").first?.text(0)
        let outside = try await connection.perform(timeout: .seconds(600)) { session throws(FleetError) in
            try session.execute("SHOW statement_timeout").first?.text(0)
        }
        #expect(inside == "10s" && outside == "0")
    }

    @Test func aStatementThatTakesTooLongEnds() async throws {
        let connection = try await connection()
        defer { connection.close() }
        let limits = TransactionLimits(statementTimeout: .milliseconds(50), lockTimeout: .milliseconds(50))
        do {
            _ = try await connection.run("SELECT pg_sleep(60)", [], limits)
            Issue.record("It ended.")
        } catch { #expect(error.sqlState == "57014" && error.isRetryable) }
        #expect(try await connection.run("SELECT 1").count == 1)
    }

    @Test func aCancelledCallEndsAtOnceAndTheNextIsAnswered() async throws {
        let connection = try await connection()
        defer { connection.close() }
        let isRunning = Flag()
        let call = Task {
            try await connection.perform(timeout: .seconds(600)) { session throws(FleetError) in
                isRunning.raise()
                return try session.execute("SELECT pg_sleep(600)").count
            }
        }
        try await waitUntil("the statement runs") { isRunning.isRaised }
        call.cancel()
        await expectError(.cancelled) { _ = try await call.value }
        #expect(try await connection.run("SELECT 5").first?.int(0) == 5)
    }

    @Test func aCallThatIsNotAnsweredInTimeEndsWithItsConnection() async throws {
        let connection = try await connection()
        defer { connection.close() }
        await expectError(.databaseUnreachable) {
            _ = try await connection.perform(timeout: .milliseconds(200)) { session throws(FleetError) in
                try session.execute("SELECT pg_sleep(600)").count
            }
        }
        #expect(try await connection.run("SELECT 5").first?.int(0) == 5)
    }

    @Test func closingEndsCallsThatWait() async throws {
        let connection = try await connection()
        let isRunning = Flag()
        let calls = (0..<3).map { _ in
            Task {
                try await connection.perform(timeout: .seconds(600)) { session throws(FleetError) in
                    isRunning.raise()
                    return try session.execute("SELECT pg_sleep(600)").count
                }
            }
        }
        try await waitUntil("the statement runs") { isRunning.isRaised }
        connection.close()
        for call in calls { await expectError(.cancelled) { _ = try await call.value } }
        await expectError(.cancelled) { _ = try await connection.run("SELECT 1") }
    }

    @Test func aConnectionThatWasClosedWhileIdleCostsNoCall() async throws {
        let connection = try await connection()
        defer { connection.close() }
        let other = try await self.connection()
        defer { other.close() }
        for _ in 0..<5 {
            let row = try #require(try await connection.run("SELECT pg_backend_pid()").first)
            let process = try row.int(0, as: Int32.self)
            _ = try await other.run("SELECT pg_terminate_backend($1)", [.int(process)])
            // The backend leaves `pg_stat_activity` before its socket is closed, so the test waits for the end of the
            // process.
            try await waitUntil("it has ended") { kill(process, 0) != 0 && errno == ESRCH }
            #expect(try await connection.run("SELECT 1").count == 1)
        }
    }

    @Test func transactionsThatMeetAreRepeated() async throws {
        try await TestDatabase.with { database async throws in
            try await database.sql("INSERT INTO host (name) SELECT 'h' || g FROM generate_series(1, 2) g")
            let connections = [DatabaseConnection(database.settings), DatabaseConnection(database.settings)]
            defer { for connection in connections { connection.close() } }
            // Each transaction locks the two rows in its own order, so PostgreSQL aborts one of them as a deadlock
            // victim.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, connection) in connections.enumerated() {
                    group.addTask {
                        let names = number == 0 ? ["h1", "h2"] : ["h2", "h1"]
                        let limits = TransactionLimits(statementTimeout: .seconds(600), lockTimeout: .seconds(600))
                        try await connection.transaction(limits) { session throws(FleetError) in
                            for name in names {
                                _ = try session.execute(
                                    "UPDATE haul.host SET strikes = strikes + 1 WHERE name = '\(name)'"
                                )
                                _ = try session.execute("SELECT pg_sleep(0.3)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.sql("SELECT sum(strikes) FROM host").first?.int(0) == 4)
        }
    }

    @Test func aCopyIsTakenWholeOrNotAtAll() async throws {
        try await TestDatabase.with { database async throws in
            let piece = Array(String(repeating: "name\u{2D}x\n", count: 20_000).utf8)
            let rows = try await database.connection.transaction(.loading) { session throws(FleetError) in
                _ = try session.execute("CREATE TEMPORARY TABLE names (name text) ON COMMIT DROP")
                var pieces = Array(repeating: piece, count: 40)
                return try session.copyIn("COPY names FROM STDIN") { pieces.popLast() }
            }
            #expect(rows == 800_000)
            await expectError(.statementFailed) {
                _ = try await database.connection.transaction(.loading) { session throws(FleetError) in
                    var pieces = [piece, Array("a\tb\n".utf8)]
                    _ = try session.copyIn("COPY haul.host (name) FROM STDIN") { pieces.popLast() }
                }
            }
            #expect(try await database.count("host") == 0)
            // The connection is usable after the failure.
            var length = 0
            length = try await database.connection.perform(timeout: .seconds(600)) { session throws(FleetError) in
                var length = 0
                try session.copyOut("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 20000)) TO STDOUT") {
                    length += $0.count
                }
                return length
            }
            #expect(length == 1001 * 20_000)
        }
    }

    @Test func whatIsWrongIsSaidWithoutThePassword() async throws {
        let server = try await PostgresServer.shared()
        let secret = "sEcReT"
        func failure(_ text: String) async throws -> FleetError? {
            let connection = DatabaseConnection(try DatabaseSettings(text, environment: [:]))
            defer { connection.close() }
            do {
                _ = try await connection.run("SELECT 1")
                return nil
            } catch { return error }
        }
        let missing = try await failure("postgresql://postgres:\(secret)@127.0.0.1:\(server.port)/missing")
        #expect(missing?.code == .databaseRefused && missing?.sqlState == "3D000", "\(String(describing: missing))")
        let user = try await failure("postgresql://none:\(secret)@127.0.0.1:\(server.port)/postgres")
        #expect(user?.code == .databaseRefused && user?.sqlState == "28000")
        let closed = try await failure(
            "postgresql://postgres:\(secret)@127.0.0.1:\(try PostgresServer.freePort())/postgres"
        )
        #expect(closed?.code == .databaseUnreachable)
        let plain = try await failure(
            "postgresql://postgres:\(secret)@127.0.0.1:\(server.port)/postgres?sslmode=require"
        )
        #expect(plain?.code == .databaseRefused && plain?.message.contains("SSL") == true)
        for error in [missing, user, closed, plain] {
            #expect(error?.message.contains(secret) == false)
            #expect(error?.message.contains("LOCATION") == false)
        }
        for text in ["postgresql://u:\(secret)@h:x%zz/", "password=\(secret) nonsense"] {
            do {
                _ = try DatabaseSettings(text, environment: [:])
                Issue.record("It was read: \(text)")
            } catch { #expect(error.code == .invalidInput && !error.message.contains(secret)) }
        }
        let shown = try DatabaseSettings("postgresql://u:\(secret)@h/d", environment: [:])
        #expect(!shown.description.contains(secret) && shown.description.contains("host=h"))
    }

    @Test func aServerOfAnotherMachineMustProveItself() throws {
        func mode(_ text: String, _ environment: [String: String] = [:]) throws -> String? {
            try DatabaseSettings(text, environment: environment).parameters["sslmode"]
        }
        #expect(try mode("postgresql://db.example/haul") == "verify-full")
        #expect(try mode("host=10.0.0.1") == "verify-full")
        #expect(try mode("hostaddr=10.0.0.1 host=localhost") == "verify-full")
        #expect(try mode("host=localhost,db.example") == "verify-full")
        #expect(try mode("", ["PGHOST": "db.example"]) == "verify-full")
        #expect(try mode("service=x") == "verify-full")
        #expect(try mode("postgresql://db.example/haul?sslmode=disable") == "disable")
        #expect(try mode("host=db.example", ["PGSSLMODE": "require"]) == nil)
        for text in ["", "host=/run/postgresql", "host=localhost", "host=127.0.0.1", "host=::1", "dbname=haul"] {
            #expect(try mode(text) == nil, "\(text)")
        }
        #expect(try mode("host=127.0.0.1.example.org") == "verify-full")
    }
}
