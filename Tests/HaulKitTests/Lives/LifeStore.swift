import GRDB

@testable import HaulCore
@testable import HaulKit

/// The database of one store. It is in memory, serves one life after another, and returns to an earlier commit at a
/// power cut.
///
/// `@unchecked Sendable` for the same reason as `World`.
final class LifeStore: @unchecked Sendable {
    private struct Table {
        var name: String
        var columns: [String]
        var rows: [[DatabaseValue]]
    }
    private typealias Snapshot = [Table]

    let queue: DatabaseQueue
    /// The database at the beginning of a life.
    private let beginning: DatabaseQueue
    private let gate = Gate()
    /// The owner numbers of the live users.
    private var users: Set<Int64> = []
    /// The owner number of the latest user.
    private var latest: Int64 = 0
    /// The last synced state and the state after each later commit. A power cut may leave any of them.
    private var snapshots: [(serial: Int, content: Snapshot)] = []
    /// Numbers the commits of all processes.
    private var serial = 0
    /// The numbers of the commits of each process, in order.
    private var serials: [Int64: [Int]] = [:]
    /// Whether the pages come from the database at the beginning of a life, and not from one that was damaged.
    var hasPagesOfBeginning = false
    /// Whether power cuts occur in this life.
    var keepsSnapshots = false

    /// Refuses commits of a process that is dead.
    private final class Gate: TransactionObserver, @unchecked Sendable {
        struct Closed: Error {}
        var isClosed = false
        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseWillCommit() throws { if isClosed { throw Closed() } }
        func databaseDidCommit(_ db: Database) {}
        func databaseDidRollback(_ db: Database) {}
    }

    init() throws {
        let beginning = try DatabaseQueue()
        try Schema.prepare(beginning) { try $0.migrate(beginning) }
        self.beginning = beginning
        queue = try DatabaseQueue()
        queue.add(transactionObserver: gate, extent: .databaseLifetime)
    }

    /// Empties the store for the next life.
    ///
    /// - Parameter isPageForPage: whether the pages without rows are those of a new store too. Damage may hit them, and
    ///   a life must not depend on the one before.
    func reset(keepsSnapshots: Bool, isPageForPage: Bool) throws {
        self.keepsSnapshots = keepsSnapshots
        users = []
        serials = [:]
        if isPageForPage || !hasPagesOfBeginning {
            try beginning.backup(to: queue)
        } else {
            try queue.write { try Self.clear($0) }
        }
        hasPagesOfBeginning = true
        try forgetCommits()
    }

    /// Opens the store for one process.
    func open(_ process: LifeProcess, bootID: String, _ world: World) -> DownloadStore {
        let executor = BlockingExecutor(
            async: { _, call in world.call(call) },
            makeQueue: { [self] _, _ in
                let queue = World.Queue()
                return SerialQueue { call in
                    world.call(on: queue) {
                        self.gate.isClosed = process.isDead
                        call()
                        self.gate.isClosed = false
                    }
                }
            }
        )
        // Greater than any process number, as `StoreOwner` requires.
        let number = Int64(process.number) << 32
        let hadCompany = !users.isEmpty
        users.insert(number)
        latest = number
        let owner = StoreOwner(
            number: number,
            isAlive: { [weak self] in self?.users.contains($0) ?? false },
            hasMetOthers: { [weak self] in
                hadCompany || self.map { $0.users.count > 1 || $0.latest != number } ?? false
            }
        )
        serials[number] = []
        return DownloadStore(StoreFile(queue, owner: owner), path: "/state", bootID: bootID, executor: executor) {
            [weak self] event in
            guard let self, !gate.isClosed else { return }
            switch event {
            case .committed:
                keep()
                serials[number, default: []].append(serial)
            case .synced(let last):
                guard let own = serials[number], own.indices.contains(last - 1) else { return }
                // Later commits of any process may still be lost.
                snapshots.removeAll { $0.serial < own[last - 1] }
            case .failed(let error): world.trace("the store failed: \(error)")
            }
        }
    }

    /// Removes a dead process from the users.
    func close(_ process: LifeProcess) { users.remove(Int64(process.number) << 32) }

    private func keep() {
        serial += 1
        guard keepsSnapshots else { return }
        // The commit is in the database, and no other commit can have followed.
        if let snapshot = try? snapshot() { snapshots.append((serial, snapshot)) }
    }

    private func snapshot() throws -> Snapshot {
        // Does not use `read`, which compiles every statement again.
        try queue.inDatabase { database in
            try ["download", "progress", "host"].map { name in
                let rows = try Row.fetchAll(database.cachedStatement(sql: "SELECT * FROM \(name)"))
                return Table(
                    name: name,
                    columns: rows.first.map { Array($0.columnNames) } ?? [],
                    rows: rows.map { Array($0.databaseValues) }
                )
            }
        }
    }

    private static func clear(_ database: Database) throws {
        for table in ["progress", "download", "host"] {
            try database.cachedStatement(sql: "DELETE FROM \(table)").execute()
        }
    }

    /// Makes the present state the only one that a power cut may leave.
    func forgetCommits() throws { snapshots = keepsSnapshots ? [(serial, try snapshot())] : [] }

    /// Restores a random state that a power cut may leave.
    func cutPower(_ world: World) throws {
        guard !snapshots.isEmpty else { return }
        let index = world.chance(snapshots.count)
        let snapshot = snapshots[index]
        world.trace("the store goes back by \(snapshots.count - 1 - index) commits")
        snapshots = [snapshot]
        try queue.write { database in
            try Self.clear(database)
            for table in snapshot.content {
                let columns = table.columns.map { "\"\($0)\"" }.joined(separator: ", ")
                let persisted = table.columns.map { _ in "?" }.joined(separator: ", ")
                for row in table.rows {
                    try database.execute(
                        sql: "INSERT INTO \(table.name) (\(columns)) VALUES (\(persisted))",
                        arguments: StatementArguments(row)
                    )
                }
            }
        }
    }

    /// Returns all readable rows.
    func saved() throws -> [DownloadStore.Saved] {
        try queue.inDatabase { database in
            var odd = OddRows()
            return try Row.fetchAll(database, sql: "SELECT \(OddRows.columns) FROM download").compactMap {
                try odd.saved($0, database)
            }
        }
    }
}
