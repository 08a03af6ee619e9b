internal import Foundation
internal import GRDB

/// Opens the database of a store; a damaged one is kept under another name, and a new one gets what can be read of it.
struct StoreOpening {
    let path: String
    let bootID: String
    let contention: StoreContention
    /// Brings a store of an earlier version up to date.
    let migrate: (DatabaseMigrator, DatabaseQueue) throws -> Void

    /// The name of a new store that is complete and not in its place yet.
    private var salvagedPath: String { path + ".salvaged" }
    private static let setting = "salvage"

    // MARK: Opening

    /// Opens a store that others may have open.
    func open() throws -> DatabaseQueue { try Self.open(path, contention, migrate) }

    /// Opens a store that nobody has open, and looks it through where it may be damaged.
    func openChecked() throws -> (DatabaseQueue, SalvagedStore?, setAside: String?) {
        try finishSalvage()
        let left = StoreHealth.mark(of: path)
        do {
            if try isLogDamaged() || isEmptied() { throw StoreDamage() }
            let check = StoreCheck(left: left, present: try mark())
            if check != .none, try !isUTF8() { throw StoreDamage() }
            let queue = try open()
            do {
                try queue.writeWithoutTransaction { try check.run($0) }
                return (queue, try keptSalvage(queue), nil)
            } catch {
                try queue.close()
                throw error
            }
        } catch  where StoreDamage.isMeant(by: error, isWritable: SystemCalls.isWritable(path)) {
            let salvage = try salvage()
            let queue = try open()
            return (queue, salvage, salvage.path)
        }
    }

    private func mark() throws -> StoreMark? {
        guard try PosixDisk().status(path) != nil else { return nil }
        return try SystemCalls.mark(path, bootID: bootID)
    }

    private func isLogDamaged() throws -> Bool {
        guard let status = try PosixDisk().status(path + "-wal"), status.kind == .file, status.size > 0 else {
            return false
        }
        return try WriteAheadLog(PosixFile.reading(path + "-wal")).isDamaged
    }

    /// SQLite takes some other values of the header's text encoding for UTF-8, until it reads the schema once more.
    private func isUTF8() throws(DiskError) -> Bool {
        try pages().page(1).dropFirst(56).prefix(4) == [0, 0, 0, 1]
    }

    /// The pages of the store as its newest commits left them.
    private func pages() throws(DiskError) -> DatabasePages {
        let hasLog = try PosixDisk().status(path + "-wal")?.kind == .file
        return try DatabasePages(path, log: hasLog ? path + "-wal" : nil)
    }

    /// Nothing is left of a store of which there was something, or its file is gone.
    private func isEmptied() throws -> Bool {
        guard try PosixDisk().status(path)?.size ?? 0 == 0 else { return false }
        return try [StoreHealth.markPath(path), path + "-wal"].contains { try PosixDisk().status($0)?.size ?? 0 > 0 }
    }

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
            // A damaged name of a schema looks like one of a later version.
            if try queue.read(StoreCheck.isDamaged("grdb_migrations")) {
                try queue.close()
                throw StoreDamage()
            }
            throw DownloadError(
                .storeFailed,
                "The store \(path) was written by a newer version of Haul. Update Haul, or name another state folder."
            )
        }
        // A new store has no users that could know less of it.
        try Schema.prepare(queue) { try migrate($0, queue) }
        return queue
    }

    // MARK: Salvaging

    /// Puts a new store with what can be read into the place of the damaged one.
    ///
    /// The new store is complete, and on the disk, before the damaged one is moved: a process that is killed in between loses neither.
    private func salvage() throws -> SalvagedStore {
        let kept = try freeName()
        // What is left of a store whose file is gone is kept under its name too.
        if try PosixDisk().status(path) == nil {
            _ = try PosixFile(path, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        }
        let building = path + ".salvaging"
        try remove(building)
        let queue = try Self.open(building, contention, migrate)
        let salvaged: SalvagedStore
        do {
            let pages = try pages()
            salvaged = try queue.write { database in
                let result = try StoreSalvage(pages).write(into: database)
                let salvaged = SalvagedStore(path: kept, date: Date(), result)
                let text = String(decoding: try JSONEncoder().encode(salvaged), as: UTF8.self)
                try database.execute(sql: "INSERT INTO setting VALUES (?, ?)", arguments: [Self.setting, text])
                return salvaged
            }
        } catch {
            // The next start tries again, from the beginning.
            try? queue.close()
            throw error
        }
        try queue.close()
        do throws(DiskError) {
            try PosixFile.reading(building).sync()
            try PosixDisk().rename(building, to: salvagedPath, replacing: true)
            try moveAway(to: kept)
            try PosixDisk().rename(salvagedPath, to: path, replacing: false)
            try PosixDisk().syncFolder(FilePaths.folder(of: path))
        } catch {
            throw DownloadError(.storeFailed, "The store \(path) is damaged and cannot be set aside. \(error.sentence)")
        }
        return salvaged
    }

    /// Ends what a process was killed at: the damaged store is not in its place any more.
    private func finishSalvage() throws(DiskError) {
        guard try PosixDisk().status(path) == nil, try PosixDisk().status(salvagedPath) != nil else { return }
        try moveAway(to: try freeName())
        try PosixDisk().rename(salvagedPath, to: path, replacing: false)
    }

    /// The database goes first: without it, what is left of it belongs to no store.
    private func moveAway(to kept: String) throws(DiskError) {
        for suffix in try Self.suffixes(of: path) {
            try PosixDisk().rename(path + suffix, to: kept + suffix, replacing: false)
        }
        try remove(StoreHealth.markPath(path))
    }

    private func freeName() throws(DiskError) -> String {
        var stamp = Int(Date().timeIntervalSince1970)
        while true {
            let name = "\(path).damaged-\(stamp)"
            if try Self.suffixes(of: name).isEmpty { return name }
            stamp += 1
        }
    }

    private func remove(_ path: String) throws(DiskError) {
        for suffix in try Self.suffixes(of: path) { try PosixDisk().remove(path + suffix) }
    }

    /// The files of a database that are there, as the ends of their names, the database first.
    private static func suffixes(of path: String) throws(DiskError) -> [String] {
        var found: [String] = []
        for suffix in ["", "-wal", "-shm"] where try PosixDisk().status(path + suffix) != nil { found.append(suffix) }
        return found
    }

    /// What an earlier start had to salvage; nil once the damaged store is gone.
    private func keptSalvage(_ queue: DatabaseQueue) throws -> SalvagedStore? {
        let sql = "SELECT value FROM setting WHERE name = ? AND typeof(value) = 'text'"
        let text = try queue.read { try String.fetchOne($0, sql: sql, arguments: [Self.setting]) }
        // It says nothing that a download depends on.
        guard let text, let salvaged = try? JSONDecoder().decode(SalvagedStore.self, from: Data(text.utf8)),
            try PosixDisk().status(salvaged.path) != nil
        else { return nil }
        return salvaged
    }
}
