internal import Dispatch
internal import Foundation
internal import GRDB
internal import Synchronization

/// Stores downloads in an SQLite database, so that they survive the process. All access runs on the writer, a serial
/// queue outside the actor.
///
/// `note` gathers a change and returns at once. Changes gathered during a transaction go into the next one. `commit`
/// returns when the row is in the database, and with `durably` when the disk has the row (see ``CommitSync``). In
/// NORMAL mode SQLite may lose the newest commits in a power loss, but keeps their order.
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
    private let commitSync: CommitSync
    private let gathered = Mutex(GatheredChanges())
    /// Used on the writer only.
    let rows = Mutex(RecordWriter())
    /// Called once for each unreadable row, with the row's id and URL as far as they can be read, else with its number.
    let onOddRow: @Sendable (_ name: String) -> Void
    /// Changed on the writer only.
    private let isClosed = Atomic<Bool>(false)
    private let observer: @Sendable (StoreEvent) -> Void

    convenience init(
        folder: String,
        name: String,
        isExclusive: Bool,
        bootID: String,
        movingRoot: String? = nil,
        contention: StoreContention = StoreContention(),
        observer: @escaping @Sendable (StoreEvent) -> Void = { _ in },
        onChange: @escaping @Sendable (DownloadError?) -> Void = { _ in },
        onOddRow: @escaping @Sendable (_ name: String) -> Void = { _ in }
    ) throws(DownloadError) {
        self.init(
            try StoreFile(
                folder: folder,
                name: name,
                isExclusive: isExclusive,
                bootID: bootID,
                movingRoot: movingRoot,
                contention: contention,
                onChange: onChange
            ),
            path: FilePaths.join(folder, name + ".sqlite"),
            bootID: bootID,
            observer: observer,
            onOddRow: onOddRow
        )
    }

    /// Creates a store over an open database.
    init(
        _ file: StoreFile,
        path: String,
        bootID: String,
        executor: BlockingExecutor = .system,
        observer: @escaping @Sendable (StoreEvent) -> Void,
        onOddRow: @escaping @Sendable (_ name: String) -> Void = { _ in }
    ) {
        self.file = file
        self.path = path
        setAside = file.setAside
        self.bootID = bootID
        self.onOddRow = onOddRow
        self.observer = observer
        writer = executor.makeQueue("haul.store", .utility)
        commitSync = CommitSync(
            executor.makeQueue("haul.store.sync", .utility),
            path: path,
            syncLog: file.syncLog,
            observer: observer
        )
    }

    // MARK: Writing

    func note(_ record: DownloadRecord) {
        gather { $0.change(record.id) { $0.record = record } }
    }

    func note(_ persisted: PersistedRanges, of id: String) {
        gather { $0.change(id) { $0.persisted = persisted } }
    }

    /// Writes a record now, with its ranges if there are any. Supersedes a record that was noted before. Supersedes
    /// noted ranges only if `persisted` is not `nil`.
    ///
    /// Commits that arrive during a transaction share the next transaction and its sync, so that many commits at once
    /// need only one sync. Each call returns when its own row is written, and with `durably` when the disk has the row.
    ///
    /// Gathers the record before the caller's actor runs other work, so that ranges which the actor notes later are
    /// written later.
    func commit(
        _ record: DownloadRecord,
        _ persisted: PersistedRanges?,
        durably: Bool = false,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        try await commit([(record, persisted)], durably: durably)
    }

    /// Writes several records in one transaction: all of them or none.
    func commit(
        _ changes: [(record: DownloadRecord, persisted: PersistedRanges?)],
        durably: Bool = false,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        let failure = await withCheckedContinuation { continuation in
            gather { gathered in
                for (record, persisted) in changes {
                    // New ranges replace the ranges noted earlier, because the record may withdraw earlier ranges.
                    // Ranges noted from here on are written after the record.
                    gathered.change(record.id) {
                        $0 = GatheredChanges.Change(
                            record: record,
                            persisted: persisted ?? $0.persisted,
                            isAwaited: true
                        )
                    }
                }
                if durably {
                    gathered.waitingForDisk.append(continuation)
                } else {
                    gathered.waiting.append(continuation)
                }
            }
        }
        if let failure { throw failure }
    }

    private func gather(_ change: (inout GatheredChanges) -> Void) {
        let isFirst = gathered.withLock { gathered in
            change(&gathered)
            defer { gathered.isScheduled = true }
            return !gathered.isScheduled
        }
        if isFirst { writer.async { self.writeGathered() } }
    }

    /// - Returns: the error if the disk is full. The noted changes then stay noted. `nil` otherwise; callers that wait
    ///   for a commit get every error.
    @discardableResult
    func writeGathered() -> DownloadError? {
        let batch = gathered.withLock { gathered in
            defer { gathered = GatheredChanges() }
            return gathered
        }
        guard !batch.isEmpty else { return nil }
        do {
            try checkIsOpen()
            try file.health.checkIsThere()
            try write(batch)
            file.health.noteWritten()
            commitSync.committed(batch.waitingForDisk)
            for continuation in batch.waiting { continuation.resume(returning: nil) }
            return nil
        } catch {
            let failure = file.health.error(error)
            // Keeps noted changes for the next attempt if the disk is full. Other errors lose them: the bytes of lost
            // ranges are only fetched again. Changes that must be written are committed, not noted.
            if failure.code == .diskFull { gathered.withLock { $0.takeBack(batch) } }
            rows.withLock { $0 = RecordWriter() }
            observer(.failed(failure))
            for continuation in batch.waiting + batch.waitingForDisk { continuation.resume(returning: failure) }
            return failure.code == .diskFull ? failure : nil
        }
    }

    private func write(_ batch: GatheredChanges) throws {
        try file.queue.writeWithoutTransaction { database in
            try database.inTransaction {
                for (id, change) in batch.inOrder { try self.write(change, id, database) }
                return .commit
            }
            if !batch.waitingForDisk.isEmpty, commitSync.isLogDoubtful {
                try database.checkpoint(.truncate)
                commitSync.logWasCopied()
            }
        }
    }

    private func write(_ change: GatheredChanges.Change, _ id: String, _ database: Database) throws {
        if let record = change.record {
            guard let current = try current(record, database) else { return rows.withLock { $0.forget(id) } }
            try rows.withLock { rows in
                // `current` has values that another process wrote, so the cached row is out of date.
                if current != record { rows.forget(id) }
                try rows.write(current, database)
            }
        }
        if let persisted = change.persisted {
            try ProgressRecord(id, persisted, bootID: bootID).write(database)
        }
    }

    /// Returns the record to write; `nil` if another user of the store runs, publishes or has completed the download.
    ///
    /// After this user has released a download, another user may run and release it too. The row then has the newer
    /// partial file and version.
    private func current(_ record: DownloadRecord, _ database: Database) throws -> DownloadRecord? {
        guard file.isShared, record.ownerNumber != owner.number else { return record }
        var statement = try BoundStatement("SELECT ownerNumber FROM download WHERE id = ?", database)
        statement.bind(record.id)
        if let other = try statement.firstInteger(), other != 0 {
            if other == owner.number { return record }
            if owner.isAlive(other) { return nil }
        }
        guard owner.hasMetOthers, record.status != .completed else { return record }
        let row = try Row.fetchOne(
            database.cachedStatement(sql: "SELECT \(OddRows.columns) FROM download WHERE id = ?"),
            arguments: [record.id]
        )
        // The next reader reports an unreadable row.
        var odd = OddRows()
        guard let latest = row.flatMap({ odd.record($0) }) else { return record }
        return record.updated(with: latest)
    }

    func remove(_ id: String) async throws(DownloadError) {
        try await onWriter { store in
            store.gathered.withLock { $0.forget(id) }
            store.rows.withLock { $0.forget(id) }
            try store.file.health.checkIsThere()
            try store.file.queue.write { try $0.execute(sql: "DELETE FROM download WHERE id = ?", arguments: [id]) }
        }
    }

    /// Returns after an attempt to write everything noted so far into the database.
    func flush() async {
        await withCheckedContinuation { continuation in
            writer.async {
                self.writeGathered()
                continuation.resume()
            }
        }
    }

    /// Shortens the wait for a store that another program keeps locked, because the downloader closes.
    func beginClosing() { file.contention.close() }

    /// Lets another downloader own the name, even while something still references this store.
    func giveUpName() {
        file.lock?.unlock()
        owner.leave()
    }

    var owner: StoreOwner { file.owner }

    /// Writes noted changes, closes the database and lets another downloader own the name.
    ///
    /// Another process may own the rows afterwards: every later call throws ``DownloadError/Code/shutDown``, and later
    /// notes are dropped. A second call does nothing.
    func close() async {
        await withCheckedContinuation { continuation in
            writer.async {
                self.closeNow()
                continuation.resume()
            }
        }
    }

    private func closeNow() {
        guard !isClosed.load(ordering: .relaxed) else { return }
        writeGathered()
        isClosed.store(true, ordering: .relaxed)
        do { try file.close(keepsLog: commitSync.end()) } catch { observer(.failed(file.health.error(error))) }
        giveUpName()
    }

    // MARK: Failures

    /// Reason why the store does not record changes: damage, no file or no space. `nil` while it does.
    var failure: DownloadError? { file.health.failure }

    /// - Throws: ``failure``, because the store would forget an added download.
    func checkTakesMore() throws(DownloadError) {
        if let failure { throw failure }
    }

    /// Error of the last write that found no space; `nil` while the disk of the store has space.
    var lackOfSpace: DownloadError? { file.health.lackOfSpace }

    /// Sets the function to call each time that the disk of the store becomes full.
    func whenFull(_ call: @escaping @Sendable () -> Void) { file.health.whenFull(call) }

    /// Writes the notes, and writes `user_version` without changing its value, to find out whether the store can be
    /// written. Call this method before deleting files whose rows are deleted too.
    ///
    /// - Throws: if the store cannot be written, for example because its disk is full.
    func checkCanBeWritten() async throws(DownloadError) {
        try await onWriter { store in
            if let failure = store.writeGathered() { throw failure }
            try store.file.health.checkIsThere()
            try store.file.queue.write { database in
                let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
                try database.execute(sql: "PRAGMA user_version = \(version)")
            }
            store.file.health.noteWritten()
        }
    }

    /// Result of salvaging a damaged store; `nil` if no store was damaged, or if the damaged store is no longer there.
    var salvage: SalvagedStore? {
        guard let salvage = file.salvage else { return nil }
        do throws(DiskError) { return try PosixDisk().status(salvage.path) == nil ? nil : salvage } catch {
            return salvage
        }
    }

    private func checkIsOpen() throws(DownloadError) {
        if isClosed.load(ordering: .relaxed) { throw DownloadError.isShutDown }
    }

    // MARK: Owners

    /// Makes this user of the store the owner of a download that has no partial file to lock yet. Returns `false` if
    /// another live user owns the download.
    func claim(_ id: String) async throws(DownloadError) -> Bool {
        try await onWriter { store in
            try store.file.queue.write { database in
                let row = try Row.fetchOne(
                    database.cachedStatement(sql: "SELECT * FROM download WHERE id = ?"),
                    arguments: [id]
                )
                // An unreadable row has no owner.
                var requests = RequestReader()
                guard let row, let record = try? DownloadRecord(row, &requests), record.isPlausible else { return true }
                if let other = record.ownerNumber, other != store.owner.number, store.owner.isAlive(other) {
                    return false
                }
                store.rows.withLock { $0.forget(id) }
                try database.execute(
                    sql: "UPDATE download SET ownerNumber = ? WHERE id = ?",
                    arguments: [store.owner.number, id]
                )
                return true
            }
        }
    }

    /// Clears the owner of every download whose owner is no longer alive.
    func forgetDeadOwners() async throws(DownloadError) {
        try await onWriter { store in
            store.writeGathered()
            try store.file.queue.write { database in
                let owners = try Int64.fetchAll(
                    database.cachedStatement(
                        sql: "SELECT DISTINCT ownerNumber FROM download WHERE typeof(ownerNumber) = 'integer'"
                    )
                )
                for owner in owners where !store.owner.isAlive(owner) {
                    try database.execute(
                        sql: "UPDATE download SET ownerNumber = NULL WHERE ownerNumber = ?",
                        arguments: [owner]
                    )
                }
            }
        }
    }

    func onWriter<Value: Sendable>(_ step: @escaping @Sendable (DownloadStore) throws -> Value)
        async throws(DownloadError)
        -> Value
    {
        let result: Result<Value, DownloadError> = await withCheckedContinuation { continuation in
            writer.async {
                let result = Result {
                    try self.checkIsOpen()
                    return try step(self)
                }
                continuation.resume(returning: result.mapError { self.file.health.error($0) })
            }
        }
        return try result.get()
    }
}
