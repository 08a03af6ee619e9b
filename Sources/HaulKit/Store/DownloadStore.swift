internal import Dispatch
internal import Foundation
internal import GRDB
internal import Synchronization

/// What survives the process: a SQLite database, written off the actor.
///
/// `note` gathers and returns at once; whatever gathers while a transaction runs goes into the next one. `commit` returns
/// when the row is in the database, and with `durably` when the disk has it: SQLite's NORMAL mode may lose the newest
/// commits in a power loss, never their order.
final class DownloadStore: Sendable {

    struct Saved: Sendable, Equatable {
        var record: DownloadRecord
        var progress: ProgressRecord?
    }

    let setAside: String?
    let file: StoreFile
    private let path: String
    private let bootID: String
    private let writer: SerialQueue
    private struct Pending {
        var record: DownloadRecord?
        var mark: Mark?
    }
    private struct Gathered {
        var changes: [String: Pending] = [:]
        /// The order in which they came, so that rows lie in the order of adding.
        var order: [String] = []
        var isScheduled = false
        /// Whether somebody waits for the disk to have it.
        var isDurable = false
        var waiting: [CheckedContinuation<DownloadError?, Never>] = []

        mutating func change(_ id: String, _ change: (inout Pending) -> Void) {
            if changes[id] == nil { order.append(id) }
            change(&changes[id, default: Pending()])
        }
    }
    private let gathered = Mutex(Gathered())
    /// Used on the writer only.
    private let rows = Mutex(DownloadRow())
    /// Told of every write that failed in the background, and of every commit (for tests of power loss).
    private let onCommit: @Sendable (_ isDurable: Bool, DownloadError?) -> Void

    convenience init(
        folder: String,
        name: String,
        isExclusive: Bool,
        bootID: String,
        onCommit: @escaping @Sendable (_ isDurable: Bool, DownloadError?) -> Void = { _, _ in }
    ) throws(DownloadError) {
        self.init(
            try StoreFile(folder: folder, name: name, isExclusive: isExclusive),
            path: FilePaths.join(folder, name + ".sqlite"),
            bootID: bootID,
            onCommit: onCommit
        )
    }

    /// Over a database that is open already.
    init(
        _ file: StoreFile,
        path: String,
        bootID: String,
        executor: BlockingExecutor = .system,
        onCommit: @escaping @Sendable (_ isDurable: Bool, DownloadError?) -> Void
    ) {
        self.file = file
        self.path = path
        setAside = file.setAside
        self.bootID = bootID
        self.onCommit = onCommit
        writer = executor.makeQueue("haul.store", .utility)
    }

    // MARK: Writing

    func note(_ record: DownloadRecord) {
        gather { $0.change(record.id) { $0.record = record } }
    }

    func note(_ mark: Mark, of id: String) {
        gather { $0.change(id) { $0.mark = mark } }
    }

    /// Writes a record, and a mark if there is one, now. What was noted of it before is superseded.
    ///
    /// Commits that come while a transaction runs share the next one, and its sync: many downloads at once cost the disk no
    /// more than one. Each returns when its own row is written, and with `durably` when the disk has it.
    func commit(_ record: DownloadRecord, _ mark: Mark?, durably: Bool = false) async throws(DownloadError) {
        try await commit([(record, mark)], durably: durably)
    }

    /// Writes several records in one transaction: all of them or none.
    func commit(_ changes: [(record: DownloadRecord, mark: Mark?)], durably: Bool = false) async throws(DownloadError) {
        let failure = await withCheckedContinuation { continuation in
            gather { gathered in
                for (record, mark) in changes {
                    // A mark that was noted before must not come after a record that takes it back; what is noted from here
                    // on may.
                    gathered.change(record.id) { $0 = Pending(record: record, mark: mark ?? $0.mark) }
                }
                if durably { gathered.isDurable = true }
                gathered.waiting.append(continuation)
            }
        }
        if let failure { throw failure }
    }

    private func gather(_ change: (inout Gathered) -> Void) {
        let isFirst = gathered.withLock { gathered in
            change(&gathered)
            defer { gathered.isScheduled = true }
            return !gathered.isScheduled
        }
        if isFirst { writer.async { self.writeGathered() } }
    }

    func writeGathered() {
        let batch = gathered.withLock { gathered in
            defer { gathered = Gathered() }
            return gathered
        }
        guard !batch.changes.isEmpty || !batch.waiting.isEmpty else { return }
        var failure: DownloadError?
        do {
            try write(batch)
            onCommit(batch.isDurable, nil)
        } catch {
            // Marks that stay behind cost bytes, not correctness; what must be written is committed, not noted.
            let reason = StoreFile.error(error, path)
            rows.withLock { $0 = DownloadRow() }
            onCommit(batch.isDurable, reason)
            failure = reason
        }
        for continuation in batch.waiting { continuation.resume(returning: failure) }
    }

    private func write(_ batch: Gathered) throws {
        try file.queue.writeWithoutTransaction { database in
            if batch.isDurable { try database.execute(sql: "PRAGMA synchronous = FULL") }
            defer {
                // It cannot fail where the line above did not; and a store that stays in FULL is merely slower.
                if batch.isDurable { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
            }
            try database.inTransaction {
                for id in batch.order {
                    if let pending = batch.changes[id] { try self.write(pending, id, database) }
                }
                return .commit
            }
        }
    }

    private func write(_ pending: Pending, _ id: String, _ database: Database) throws {
        if let record = pending.record { try rows.withLock { try $0.write(record, database) } }
        if let mark = pending.mark {
            try ProgressRecord(id, mark, bootID: bootID).write(database)
        }
    }

    func remove(_ id: String) async throws(DownloadError) {
        try await onWriter { store in
            store.gathered.withLock { $0.changes[id] = nil }
            store.rows.withLock { $0.forget(id) }
            _ = try store.file.queue.write { try DownloadRecord.deleteOne($0, key: id) }
        }
    }

    /// Returns when everything noted so far is in the database.
    func flush() async {
        await withCheckedContinuation { continuation in
            writer.async {
                self.writeGathered()
                continuation.resume()
            }
        }
    }

    /// Lets another downloader own the name, also where something still holds this store.
    func giveUpName() {
        file.lock?.unlock()
        owner.leave()
    }

    /// This user of the store.
    var owner: StoreOwner { file.owner }

    // MARK: Reading

    /// Downloads whose files were about to take their final names when their process ended.
    func unfinishedPublications() async throws(DownloadError) -> [Saved] {
        try await onWriter { store in
            try store.file.queue.read { database in
                // A row that a later version wrote, or somebody edited, must not hide the others.
                try Row.fetchAll(database, DownloadRecord.filter(Column("status") == "publishing")).compactMap { row in
                    guard let record = try? DownloadRecord(row: row) else { return nil }
                    return try store.saved(record, database)
                }
            }
        }
    }

    /// The newest download that a request goes on with: that of its key, or else the same named file, or the same URL into the
    /// same folder.
    func find(_ request: DownloadRequest) async throws(DownloadError) -> Saved? {
        try await find([request]).first ?? nil
    }

    /// The same for many requests, with an answer for each.
    func find(_ requests: [DownloadRequest]) async throws(DownloadError) -> [Saved?] {
        try await onWriter { store in
            store.writeGathered()
            return try store.file.queue.read { database in
                try requests.map { request in
                    guard
                        let row = try Self.newest(request, database) ?? Self.newestOfEarlierSpelling(request, database)
                    else { return nil }
                    return try DownloadRecord.filter(Column.rowID == row).fetchOne(database)
                        .map { try store.saved($0, database) }
                }
            }
        }
    }

    private static func newestOfEarlierSpelling(_ request: DownloadRequest, _ database: Database) throws -> Int64? {
        guard let earlier = request.earlierSpelling.flatMap(URL.init(string:)), request.key == nil else { return nil }
        var request = request
        request.url = earlier
        return try newest(request, database)
    }

    /// The number of the row. Most requests of a list have none yet, which is found out without sorting.
    private static func newest(_ request: DownloadRequest, _ database: Database) throws -> Int64? {
        for order in ["LIMIT 1", "ORDER BY createdAt DESC, rowid DESC LIMIT 1"] {
            var statement: BoundStatement
            if let key = request.key {
                statement = try BoundStatement("SELECT rowid FROM download WHERE key = ?", database)
                statement.bind(key)
                return try statement.firstInteger()
            }
            switch request.destination {
            case .file(let path):
                statement = try BoundStatement("SELECT rowid FROM download WHERE file = ? \(order)", database)
                statement.bind(path)
            case .folder(let path):
                statement = try BoundStatement(
                    "SELECT rowid FROM download WHERE url = ? AND folder = ? \(order)",
                    database
                )
                statement.bind(request.url.absoluteString)
                statement.bind(path)
            }
            let row = try statement.firstInteger()
            if row == nil || order != "LIMIT 1" { return row }
        }
        return nil
    }

    /// The download whose bytes gather at this path, if it is another one than that of `id`.
    func find(partPath: String, besides id: String) async throws(DownloadError) -> DownloadRecord? {
        try await onWriter { store in
            try store.file.queue.read {
                try DownloadRecord.filter(Column("partPath") == partPath && Column("id") != id).fetchOne($0)
            }
        }
    }

    /// The newest download whose file is, or is to be, at this path.
    func find(finalPath: String) async throws(DownloadError) -> DownloadRecord? {
        try await onWriter { store in
            store.writeGathered()
            return try store.file.queue.read { database in
                try DownloadRecord.filter(Column("finalPath") == finalPath)
                    .order(Column("createdAt").desc, Column.rowID.desc).fetchOne(database)
            }
        }
    }

    func find(id: String) async throws(DownloadError) -> Saved? {
        try await onWriter { store in
            store.writeGathered()
            return try store.file.queue.read { database in
                try DownloadRecord.fetchOne(database, key: id).map { try store.saved($0, database) }
            }
        }
    }

    /// Makes this user of the store the owner of a download that has no partial file to lock yet; false when another one that
    /// is alive owns it.
    func claim(_ id: String) async throws(DownloadError) -> Bool {
        try await onWriter { store in
            try store.file.queue.write { database in
                guard var record = try DownloadRecord.fetchOne(database, key: id) else { return true }
                if let owner = record.owner, owner != store.owner.number, store.owner.isAlive(owner) { return false }
                record.owner = store.owner.number
                store.rows.withLock { $0.forget(id) }
                try record.update(database)
                return true
            }
        }
    }

    /// Takes from those who are no more what they owned when their process ended.
    func forgetDeadOwners() async throws(DownloadError) {
        try await onWriter { store in
            store.writeGathered()
            try store.file.queue.write { database in
                let owners = try Int64.fetchAll(
                    database,
                    sql: "SELECT DISTINCT owner FROM download WHERE owner IS NOT NULL"
                )
                for owner in owners where !store.owner.isAlive(owner) {
                    try database.execute(sql: "UPDATE download SET owner = NULL WHERE owner = ?", arguments: [owner])
                }
            }
        }
    }

    private func saved(_ record: DownloadRecord, _ database: Database) throws -> Saved {
        Saved(record: record, progress: try ProgressRecord.fetchOne(database, key: record.id))
    }

    func onWriter<Value: Sendable>(_ step: @escaping @Sendable (DownloadStore) throws -> Value)
        async throws(DownloadError)
        -> Value
    {
        let result: Result<Value, DownloadError> = await withCheckedContinuation { continuation in
            writer.async {
                continuation.resume(returning: Result { try step(self) }.mapError { StoreFile.error($0, self.path) })
            }
        }
        return try result.get()
    }
}
