internal import CHaulSystem
internal import Foundation
internal import GRDB

/// Opens the file of a store: creates the folder, locks the name, refuses a store of a newer version, salvages a
/// damaged one.
struct StoreFile {
    let queue: DatabaseQueue
    /// Lock that is held while the store is open: exclusive if the downloader restores everything, else shared. `nil`
    /// for a database in memory.
    let lock: NameLock?
    /// This user of the store, among others that may use it at the same time.
    let owner: StoreOwner
    /// Whether other processes may use the store at the same time.
    let isShared: Bool
    /// Result of salvaging a damaged store at this opening or an earlier one; `nil` if no store was damaged, or if the
    /// damaged store is no longer there.
    let salvage: SalvagedStore?
    /// Path that this opening moved a damaged store to; `nil` if there was none.
    let setAside: String?
    let health: StoreHealth
    let contention: StoreContention
    /// Returns when the disk has every commit that returned before the call.
    let syncLog: @Sendable () throws(DiskError) -> Void

    /// - Parameters:
    ///   - bootID: id of this boot of the machine.
    ///   - movingRoot: see ``Downloader/Configuration/Storage/movingRoot``.
    ///   - onChange: see ``StoreHealth``.
    init(
        folder: String,
        name: String,
        isExclusive: Bool,
        bootID: String = "",
        movingRoot: String? = nil,
        contention: StoreContention = StoreContention(),
        onChange: @escaping @Sendable (DownloadError?) -> Void = { _ in }
    ) throws(DownloadError) {
        self.contention = contention
        isShared = !isExclusive
        try Self.check(name: name)
        let lock: NameLock
        do {
            try PosixDisk().createFolder(folder, mode: 0o700)
            lock = try NameLock(FilePaths.join(folder, name + ".lock"))
            owner = try StoreOwner(FilePaths.join(folder, name + ".owners"))
        } catch {
            throw StoreError.converted(error, "The state folder \(folder) cannot be used.")
        }
        let path = Self.resolved(FilePaths.join(folder, name + ".sqlite"))
        // Only one process at a time creates, migrates or sets aside the store. Takes this lock before the name lock,
        // so that a process that waits here does not count as a user.
        let setup = try Self.setupLock(FilePaths.join(folder, name + ".setup"), contention)
        defer { withExtendedLifetime(setup) {} }
        guard try Self.takePatiently(lock, isExclusive: isExclusive) else {
            throw Self.nameIsTaken(name, folder, isExclusive: isExclusive, isHeldHere: lock.isHeldHere)
        }
        self.lock = lock
        let migrate = { (migrator: DatabaseMigrator, queue: DatabaseQueue) throws in
            try Self.migrate(queue, migrator, path, lock, isExclusive: isExclusive)
        }
        do {
            // Other users that have the store open have found it intact or know of its damage. So only a lone user
            // checks it.
            let isAlone = try Self.take(lock, isExclusive: true)
            // Takes the shared lock again, because a failed change of a lock also releases the old lock.
            if !isExclusive { _ = try Self.take(lock, isExclusive: false) }
            let opening = StoreOpening(path: path, bootID: bootID, contention: contention, migrate: migrate)
            (queue, salvage, setAside) = try isAlone ? opening.openChecked() : (opening.open(), nil, nil)
            health = try StoreHealth(path, bootID: bootID, isIntact: isAlone, onChange)
        } catch { throw StoreError.converted(error, at: path) }
        do {
            if let movingRoot { try MovingRoot.follow(movingRoot, in: queue) }
            let log = try StoreLog(ofDatabaseAt: path)
            syncLog = { () throws(DiskError) in try log.sync() }
        } catch { throw StoreError.converted(error, at: path) }
    }

    private static func check(name: String) throws(DownloadError) {
        guard !name.isEmpty, !name.contains("/"), name.first != "." else {
            throw DownloadError(
                .storeFailed,
                "A downloader's name must not be empty, begin with a dot or contain a slash."
            )
        }
    }

    /// Brings a store of an earlier version up to date, while no other process uses the store.
    private static func migrate(
        _ queue: DatabaseQueue,
        _ migrator: DatabaseMigrator,
        _ path: String,
        _ lock: NameLock,
        isExclusive: Bool
    ) throws {
        // Needs the exclusive lock, because a running process of an earlier version could not read the new rows.
        guard try take(lock, isExclusive: true) else {
            throw DownloadError(
                .inUse,
                "A process of an earlier version of Haul uses the store \(path). Wait until it ends, or stop it."
            )
        }
        try migrator.migrate(queue)
        _ = try take(lock, isExclusive: isExclusive)
    }

    /// Follows a symbolic link, because SQLite keeps the log beside the target of the link.
    private static func resolved(_ path: String) -> String {
        guard let target = realpath(path, nil) else { return path }
        defer { free(target) }
        return String(validatingCString: target) ?? path
    }

    /// Creates a store over an open, migrated database that no other process sees. The store counts as shared, because
    /// `owner` may simulate other users.
    ///
    /// - Parameter syncLog: syncs the log of the database; does nothing for a database in memory.
    init(
        _ queue: DatabaseQueue,
        owner: StoreOwner = StoreOwner(),
        syncLog: @escaping @Sendable () throws(DiskError) -> Void = {}
    ) {
        self.syncLog = syncLog
        self.queue = queue
        lock = nil
        self.owner = owner
        isShared = true
        (salvage, setAside) = (nil, nil)
        health = StoreHealth()
        contention = StoreContention()
    }

    /// Creates an empty store in memory, which ends with the process.
    static func inMemory() throws(DownloadError) -> StoreFile { StoreFile(try Schema.databaseInMemory()) }

    /// Reads the store in one transaction. Does not use GRDB's own `read`, because its `PRAGMA query_only` makes SQLite
    /// compile every statement again, even prepared ones.
    func look<Value>(_ read: (Database) throws -> Value) throws -> Value {
        try queue.writeWithoutTransaction { database in
            var value: Value?
            try database.inTransaction(.deferred) {
                value = try read(database)
                return .commit
            }
            guard let value else { throw DownloadError(.storeFailed, "The store did not do what it was asked.") }
            return value
        }
    }

    /// Closes the database and writes the mark of an intact store. A database that the caller passed in stays open.
    ///
    /// - Parameter keepsLog: whether a short log may stay, and the next opening reads it. Copying the log into the
    ///   database and removing it costs four syncs, more than the rest of a small download.
    func close(keepsLog: Bool) throws {
        guard lock != nil else { return }
        if keepsLog, try isLogShort() {
            queue.writeWithoutTransaction { haul_sqlite_keep_log($0.sqliteConnection) }
        }
        try queue.close()
        health.leaveMark()
    }

    /// Largest log that may stay, in bytes. The next opening takes less than a millisecond to read it.
    private static let longestKeptLog: Int64 = 512 << 10

    /// Whether the log may stay. The log of a new store may not: its database has no table yet.
    private func isLogShort() throws(DiskError) -> Bool {
        let disk = PosixDisk()
        guard let database = try disk.status(health.path), database.size > DatabasePages.pageSize,
            let log = try disk.status(health.path + "-wal")
        else { return false }
        return log.size <= Self.longestKeptLog
    }

    /// Takes the lock. Waits for a downloader of this process that was released without a shutdown, because its last
    /// writes take a moment. Does not wait for another process.
    private static func takePatiently(_ lock: NameLock, isExclusive: Bool) throws(DownloadError) -> Bool {
        var waited = 0
        while true {
            if try take(lock, isExclusive: isExclusive) { return true }
            // Tries once more, because a downloader of this process may have left since the try above.
            guard lock.isHeldHere, waited < mostWaits else { return try take(lock, isExclusive: isExclusive) }
            waited += 1
            usleep(wait)
        }
    }

    /// Pause between two tries in microseconds; all tries take ten seconds. The last writes may take long on a busy
    /// machine.
    private static let wait: UInt32 = 10_000
    private static let mostWaits = 1000

    private static func take(_ lock: NameLock, isExclusive: Bool) throws(DownloadError) -> Bool {
        do { return try lock.take(isExclusive: isExclusive) } catch { throw DownloadError(error) }
    }

    private static func nameIsTaken(
        _ name: String,
        _ folder: String,
        isExclusive: Bool,
        isHeldHere: Bool
    ) -> DownloadError {
        let owner = "the downloader \"\(name)\" of \(folder)"
        if isHeldHere {
            return DownloadError(
                .inUse,
                "This process has opened \(owner) already. Shut that one down first, or choose another name."
            )
        }
        return DownloadError(
            .inUse,
            isExclusive
                ? "Another process uses \(owner). Stop it, or choose another name."
                : "A process that owns \(owner) is running. Stop it, or choose another state folder."
        )
    }

    private static func setupLock(_ path: String, _ contention: StoreContention) throws(DownloadError) -> PosixFile {
        do {
            let file = try PosixFile(path, flags: O_RDWR | O_CREAT, mode: 0o600)
            var tries = 0
            repeat {
                if try file.lock() { return file }
                tries += 1
            } while contention.wait(for: path, tries: tries - 1)
        } catch { throw DownloadError(error) }
        throw StoreContention.isLocked(path)
    }
}
