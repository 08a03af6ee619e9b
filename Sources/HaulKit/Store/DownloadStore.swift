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
    private let file: StoreFile
    private let path: String
    private let bootID: String
    private let writer = DispatchQueue(label: "haul.store", qos: .utility)
    private struct Pending {
        var record: DownloadRecord?
        var mark: Mark?
    }
    private struct Gathered {
        var changes: [String: Pending] = [:]
        var isScheduled = false
    }
    private let gathered = Mutex(Gathered())
    /// Told of every write that failed in the background, and of every commit (for tests of power loss).
    private let onCommit: @Sendable (_ isDurable: Bool, DownloadError?) -> Void

    init(
        folder: String,
        name: String,
        isExclusive: Bool,
        bootID: String,
        onCommit: @escaping @Sendable (_ isDurable: Bool, DownloadError?) -> Void = { _, _ in }
    ) throws(DownloadError) {
        file = try StoreFile(folder: folder, name: name, isExclusive: isExclusive)
        path = FilePaths.join(folder, name + ".sqlite")
        setAside = file.setAside
        self.bootID = bootID
        self.onCommit = onCommit
    }

    // MARK: Writing

    func note(_ record: DownloadRecord) {
        gather(record.id) { $0.record = record }
    }

    func note(_ mark: Mark, of id: String) {
        gather(id) { $0.mark = mark }
    }

    private func gather(_ id: String, _ change: (inout Pending) -> Void) {
        let isFirst = gathered.withLock { gathered in
            change(&gathered.changes[id, default: Pending()])
            defer { gathered.isScheduled = true }
            return !gathered.isScheduled
        }
        if isFirst { writer.async { self.writeGathered() } }
    }

    private func writeGathered() {
        let changes = gathered.withLock { gathered in
            defer { gathered = Gathered() }
            return gathered.changes
        }
        guard !changes.isEmpty else { return }
        do {
            try file.queue.write { database in
                for (id, pending) in changes { try self.write(pending, id, database) }
            }
            onCommit(false, nil)
        } catch {
            // Marks that stay behind cost bytes, not correctness; what must be written is committed, not noted.
            onCommit(false, StoreFile.error(error, path))
        }
    }

    private func write(_ pending: Pending, _ id: String, _ database: Database) throws {
        if let record = pending.record { try record.upsert(database) }
        if let mark = pending.mark {
            // A download that was removed meanwhile takes no marks.
            guard try DownloadRecord.exists(database, key: id) else { return }
            try ProgressRecord(id, mark, bootID: bootID).upsert(database)
        }
    }

    /// Writes a record, and a mark if there is one, now. What was noted of it before is superseded.
    func commit(_ record: DownloadRecord, _ mark: Mark?, durably: Bool = false) async throws(DownloadError) {
        // A mark that was noted before must not come after a record that takes it back; what is noted from here on may.
        gathered.withLock { gathered in
            if mark != nil { gathered.changes[record.id] = nil } else { gathered.changes[record.id]?.record = nil }
        }
        try await onWriter { store in
            try store.file.queue.writeWithoutTransaction { database in
                if durably { try database.execute(sql: "PRAGMA synchronous = FULL") }
                defer {
                    // It cannot fail where the line above did not; and a store that stays in FULL is merely slower.
                    if durably { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
                }
                try database.inTransaction {
                    try store.write(Pending(record: record, mark: mark), record.id, database)
                    return .commit
                }
            }
            store.onCommit(durably, nil)
        }
    }

    func remove(_ id: String) async throws(DownloadError) {
        try await onWriter { store in
            store.gathered.withLock { $0.changes[id] = nil }
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
    func giveUpName() { file.lock.unlock() }

    // MARK: Reading

    func all() async throws(DownloadError) -> [Saved] {
        try await onWriter { store in
            try store.file.queue.read { database in
                // A row that a later version wrote, or somebody edited, must not hide the others.
                try Row.fetchAll(database, DownloadRecord.order(Column("createdAt"), Column.rowID)).compactMap { row in
                    guard let record = try? DownloadRecord(row: row) else { return nil }
                    return try store.saved(record, database)
                }
            }
        }
    }

    /// The newest download that a request goes on with: the same named file, or the same URL into the same folder.
    func find(_ request: DownloadRequest) async throws(DownloadError) -> Saved? {
        try await onWriter { store in
            store.writeGathered()
            return try store.file.queue.read { database in
                var query = DownloadRecord.order(Column("createdAt").desc, Column.rowID.desc)
                switch request.destination {
                case .file(let path): query = query.filter(Column("file") == path)
                case .folder(let path):
                    query = query.filter(Column("url") == request.url.absoluteString && Column("folder") == path)
                }
                return try query.fetchOne(database).map { try store.saved($0, database) }
            }
        }
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

    /// Makes a process the owner of a download that has no partial file to lock yet; false when another one that is
    /// alive owns it.
    func claim(_ id: String, for process: Int32) async throws(DownloadError) -> Bool {
        try await onWriter { store in
            try store.file.queue.write { database in
                guard var record = try DownloadRecord.fetchOne(database, key: id) else { return true }
                if let owner = record.owner, owner != process, SystemCalls.isRunning(process: owner) { return false }
                record.owner = process
                try record.update(database)
                return true
            }
        }
    }

    private func saved(_ record: DownloadRecord, _ database: Database) throws -> Saved {
        Saved(record: record, progress: try ProgressRecord.fetchOne(database, key: record.id))
    }

    private func onWriter<Value: Sendable>(_ step: @escaping @Sendable (DownloadStore) throws -> Value)
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
