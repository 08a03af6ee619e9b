internal import Foundation
internal import GRDB

/// Opens the file of a store: makes the folder, keeps others out, refuses a newer version, sets a damaged one aside.
struct StoreFile {
    let queue: DatabaseQueue
    /// Held as long as the store is open: exclusive or shared, as the downloader restores everything or not. None where the
    /// database is in memory.
    let lock: NameLock?
    /// This user of the store, among others that may use it at the same time.
    let owner: StoreOwner
    /// Whether others may use it beside us.
    let isShared: Bool
    /// Where a damaged store was moved to, if it was.
    let setAside: String?
    let contention: StoreContention
    /// Returns when the disk has every commit that returned before the call.
    let syncLog: @Sendable () throws(DiskError) -> Void

    /// - Parameter movingRoot: see ``Downloader/Configuration/Storage/movingRoot``.
    init(
        folder: String,
        name: String,
        isExclusive: Bool,
        movingRoot: String? = nil,
        contention: StoreContention = StoreContention()
    ) throws(DownloadError) {
        self.contention = contention
        isShared = !isExclusive
        guard !name.isEmpty, !name.contains("/"), name.first != "." else {
            throw DownloadError(
                .storeFailed,
                "A downloader's name must not be empty, begin with a dot or contain a slash."
            )
        }
        let lock: NameLock
        do {
            try PosixDisk().createFolder(folder, mode: 0o700)
            lock = try NameLock(FilePaths.join(folder, name + ".lock"))
            owner = try StoreOwner(FilePaths.join(folder, name + ".owners"))
        } catch {
            throw Self.error(error, "The state folder \(folder) cannot be used.")
        }
        let path = FilePaths.join(folder, name + ".sqlite")
        // One process at a time creates, migrates or sets aside. Before the lock of the users: one that waits here is none yet.
        let setup = try Self.setupLock(FilePaths.join(folder, name + ".setup"), contention)
        defer { withExtendedLifetime(setup) {} }
        guard try Self.takePatiently(lock, isExclusive: isExclusive) else {
            throw Self.nameIsTaken(name, folder, isExclusive: isExclusive, isHeldHere: lock.isHeldHere)
        }
        self.lock = lock
        let migrate = { (migrator: DatabaseMigrator, queue: DatabaseQueue) throws in
            // A process of an earlier version that is running would take the new rows for unreadable ones.
            guard try Self.take(lock, isExclusive: true) else {
                throw DownloadError(
                    .inUse,
                    "A process of an earlier version of Haul uses the store \(path). Wait until it ends, or stop it."
                )
            }
            try migrator.migrate(queue)
            _ = try Self.take(lock, isExclusive: isExclusive)
        }
        do {
            queue = try Self.open(path, contention, migrate)
            setAside = nil
        } catch let error as DatabaseError where [.SQLITE_NOTADB, .SQLITE_CORRUPT].contains(error.resultCode) {
            setAside = try Self.moveAway(path)
            do {
                queue = try Self.open(path, contention, migrate)
            } catch { throw Self.error(error, path) }
        } catch { throw Self.error(error, path) }
        do {
            if let movingRoot { try MovingRoot.follow(movingRoot, in: queue) }
            let log = try StoreLog(ofDatabaseAt: path)
            syncLog = { () throws(DiskError) in try log.sync() }
        } catch { throw Self.error(error, path) }
    }

    /// Over a database that is open, with all migrations, and that no other process sees.
    ///
    /// - Parameter syncLog: what is done to have the disk keep its commits; nothing where it is in memory.
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
        setAside = nil
        contention = StoreContention()
    }

    /// An empty store that ends with the process.
    static func inMemory() throws(DownloadError) -> StoreFile {
        do {
            let queue = try DatabaseQueue()
            try Schema.prepare(queue) { try $0.migrate(queue) }
            return StoreFile(queue)
        } catch { throw Self.error(error, ":memory:") }
    }

    /// Reads what the store has at one moment. The library's own `read` forbids writing meanwhile, by a setting that has SQLite
    /// compile every statement again, those that were kept prepared as well.
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

    /// Closes the database; one that was handed in stays open for its owner.
    func close() throws {
        if lock != nil { try queue.close() }
    }

    /// - Parameter migrate: brings a store of an earlier version up to date.
    private static func open(
        _ path: String,
        _ contention: StoreContention,
        _ migrate: (DatabaseMigrator, DatabaseQueue) throws -> Void
    ) throws -> DatabaseQueue {
        // Created by us first, since SQLite would make it readable by everybody. One that is there is not opened: closing it
        // would give up the locks that another connection of this process has on it (https://sqlite.org/howtocorrupt.html §2.2).
        do throws(DiskError) { _ = try PosixFile(path, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600) } catch {
            if error.kind != .alreadyExists { throw error }
        }
        var configuration = GRDB.Configuration()
        configuration.journalMode = .wal
        configuration.busyMode = .callback { contention.wait(for: path, tries: $0) }
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            // A list of thousands changes the same pages again and again: they are kept at hand (8 MiB), and copied from the
            // log into the database every 32 MiB rather than every 4, which everybody waits for.
            try database.execute(sql: "PRAGMA cache_size = -8192")
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 8000")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        if try queue.read(Schema.migrator.hasBeenSuperseded) {
            throw DownloadError(
                .storeFailed,
                "The store \(path) was written by a newer version of Haul. Update Haul, or name another state folder."
            )
        }
        // A new store has no users that could know less of it.
        try Schema.prepare(queue) { try migrate($0, queue) }
        return queue
    }

    private static func moveAway(_ path: String) throws(DownloadError) -> String {
        let stamp = Int(Date().timeIntervalSince1970)
        let target = "\(path).damaged-\(stamp)"
        do {
            for suffix in ["", "-wal", "-shm"] where try PosixDisk().status(path + suffix) != nil {
                try PosixDisk().rename(path + suffix, to: target + suffix, replacing: false)
            }
        } catch { throw DownloadError(.storeFailed, "The store is damaged and cannot be set aside. \(error.sentence)") }
        return target
    }

    /// Waits for a downloader of this process, which may have been released without being shut down: its last writes take a
    /// moment. Another process is not waited for.
    private static func takePatiently(_ lock: NameLock, isExclusive: Bool) throws(DownloadError) -> Bool {
        var waited = 0
        while true {
            if try take(lock, isExclusive: isExclusive) { return true }
            guard lock.isHeldHere, waited < mostWaits else { return false }
            waited += 1
            usleep(wait)
        }
    }

    /// In microseconds; three seconds in all.
    private static let wait: UInt32 = 10_000
    private static let mostWaits = 300

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

    /// What the disk refused, with the disk's own code: nothing is wrong with a store that cannot be reached.
    private static func error(_ error: DiskError, _ sentence: String) -> DownloadError {
        if error.kind == .tooManyOpenFiles { return DownloadError(error) }
        let code = DownloadError(error).code
        // A file in the place of the folder.
        return DownloadError(code == .fileExists ? .diskFailed : code, "\(sentence) \(error.sentence)")
    }

    static func error(_ error: any Error, _ path: String) -> DownloadError {
        if let error = error as? DownloadError { return error }
        if let error = error as? DiskError { return Self.error(error, "The store \(path) cannot be opened.") }
        switch (error as? DatabaseError)?.resultCode {
        case .SQLITE_FULL: return DownloadError(DiskError(.full, call: "write", path: path))
        case .SQLITE_CANTOPEN where DescriptorLimit.isExhausted:
            return DownloadError(DiskError(.tooManyOpenFiles, call: "open", path: path))
        case .SQLITE_READONLY: return DownloadError(.readOnly, "The store \(path) cannot be written: it is read-only.")
        case .SQLITE_PERM: return DownloadError(DiskError(.permissionDenied, call: "open", path: path))
        case .SQLITE_BUSY, .SQLITE_LOCKED: return StoreContention.isLocked(path)
        default: break
        }
        // A decoding error would print the row, headers and all.
        let cause = (error as? DatabaseError).map { "\($0.resultCode)" } ?? "\(type(of: error))"
        return DownloadError(.storeFailed, "The store \(path) cannot be read or written.", cause: cause)
    }
}
