import Foundation
import Synchronization
import Testing

@testable import HaulFleet

/// A database for one test, with a queue named `haul`.
final class TestDatabase: Sendable {
    let server: PostgresServer
    let name: String
    let settings: DatabaseSettings
    /// Connection for statements that bypass the queue.
    let connection: DatabaseConnection
    /// Default lease time in seconds. It is longer than any test, so that no lease expires on a busy machine.
    static let leaseSeconds = 86_400

    init(server: PostgresServer, name: String, settings: DatabaseSettings) {
        (self.server, self.name, self.settings) = (server, name, settings)
        connection = DatabaseConnection(settings)
    }

    /// Runs a test with its own database on the shared server.
    static func with(_ body: (TestDatabase) async throws -> Void) async throws {
        let database = try await PostgresServer.shared().makeDatabase()
        do { try await body(database) } catch {
            try await database.drop()
            throw error
        }
        try await database.drop()
    }

    func drop() async throws {
        connection.close()
        let other = DatabaseConnection(try server.settings())
        defer { other.close() }
        _ = try await other.perform(timeout: .seconds(600)) { [name] session throws(FleetError) in
            try session.execute("DROP DATABASE \(name) WITH (FORCE)")
        }
    }

    func queue() -> PostgresQueue { PostgresQueue(settings) }

    /// Runs a statement in the queue's schema.
    @discardableResult
    func sql(_ text: String, _ parameters: [SQLParameter] = []) async throws -> DatabaseRows {
        let path = SQLStatement("SELECT set_config('search_path', 'haul, pg_catalog', true)")
        return try await connection.run([path, SQLStatement(text, parameters)])[1]
    }

    func count(_ text: String) async throws -> Int {
        try await sql("SELECT count(*) FROM \(text)").first?.int(0) ?? -1
    }

    @discardableResult
    func add(
        _ items: [NewItem],
        chunk: Int = QueueLoader.standardChunk,
        checksKeys: Bool = true
    ) async throws -> QueueLoader.Result {
        let items = AsyncStream { continuation in
            for item in items { continuation.yield(item) }
            continuation.finish()
        }
        return try await QueueLoader(connection, .standard, chunk: chunk, checksKeys: checksKeys).add(items)
    }

    /// Adds items of one host and makes them ready.
    func ready(_ count: Int, host: String = "a.example", prefix: String = "f") async throws {
        try await add((0..<count).map { NewItem(url: "https://\(host)/\(prefix)\($0)") })
        _ = try await sql("SELECT feed()")
    }

    /// Returns the names of the queue's tables that contain the item.
    func places(_ item: Int64) async throws -> [String] {
        let text = """
            SELECT 'ready' FROM ready WHERE item_id = $1 UNION ALL SELECT 'later' FROM later WHERE item_id = $1
            UNION ALL SELECT 'lease' FROM lease WHERE item_id = $1 UNION ALL SELECT 'done' FROM done WHERE item_id = $1
            """
        return try await sql(text, [.int(item)]).map { try $0.text(0) }
    }

    /// Counts the items and the rows of items in all tables. The counts are equal if no item is lost or duplicated.
    func census() async throws -> (items: Int, rows: Int) {
        let text = """
            SELECT (SELECT count(*) FROM item),
                (SELECT count(*) FROM ready) + (SELECT count(*) FROM later) + (SELECT count(*) FROM lease)
                + (SELECT count(*) FROM done)
                + (SELECT count(*) FROM item i JOIN batch b ON i.item_id > b.fed_to AND i.item_id <= b.last_id)
                + (SELECT coalesce(sum(items), 0) FROM passed)
            """
        let row = try await sql(text).first
        return (try row?.int(0) ?? -1, try row?.int(1) ?? -2)
    }

    /// Moves a worker's last beat into the past, so that its leases have expired.
    func expire(_ worker: WorkerID) async throws {
        try await waitUntil("the server is up for longer than a lease") {
            try await sql("SELECT writable_since() < clock_timestamp() - interval '1 s'").first?.bool(0) == true
        }
        let text = "UPDATE worker SET beat_at = beat_at - interval '1 day', lease_s = 1 WHERE worker_id = $1"
        try await sql(text, [.int(worker)])
    }
}

/// Expects that a call throws an error of this code.
func expectError(
    _ code: FleetError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("It threw nothing.", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? FleetError)?.code == code, "\(error)", sourceLocation: sourceLocation)
    }
}

/// Signals an event to another task.
final class Flag: Sendable {
    private let value = Mutex(false)

    var isRaised: Bool { value.withLock { $0 } }
    func raise() { value.withLock { $0 = true } }
}
