internal import Foundation
internal import GRDB

/// Opens the database of a store. Keeps a damaged database under another name and copies its readable rows into a new
/// one.
struct StoreOpening {
    let path: String
    let bootID: String
    let contention: StoreContention
    /// Brings a store of an earlier version up to date.
    let migrate: (DatabaseMigrator, DatabaseQueue) throws -> Void

    /// Path of a new store that is complete but not yet in its place.
    private var salvagedPath: String { path + ".salvaged" }
    private static let setting = "salvage"

    // MARK: Opening

    /// Opens a store that other processes may have open.
    func open() throws -> DatabaseQueue { try Self.open(path, contention, migrate) }

    /// Opens a store that nobody else has open. Checks the store if it may be damaged, and salvages a damaged one.
    func openChecked() throws -> (DatabaseQueue, SalvagedStore?, setAside: String?) {
        try finishSalvage()
        let left = StoreHealth.mark(of: path)
        if left == nil, try isUnmade() { try remove(path) }
        do {
            if try isLogDamaged() || isEmptied() { throw StoreDamage() }
            let check = StoreCheck(left: left, present: try mark())
            if check != .none, try !hasHeaderOfHaul() { throw StoreDamage() }
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

    /// Whether the header names UTF-8, and a version of the format that SQLite writes. SQLite treats some other values
    /// as UTF-8 until it reads the schema again, and reads a file of a later version but refuses every write
    /// (https://sqlite.org/fileformat2.html#file_format_version_numbers).
    private func hasHeaderOfHaul() throws(DiskError) -> Bool {
        let page = try pages().page(1)
        return page.dropFirst(56).prefix(4) == [0, 0, 0, 1]
            && [1, 2].contains(page.dropFirst(18).first)
    }

    /// Returns the pages of the store after its newest commits.
    private func pages() throws(DiskError) -> DatabasePages {
        let hasLog = try PosixDisk().status(path + "-wal")?.kind == .file
        return try DatabasePages(path, log: hasLog ? path + "-wal" : nil)
    }

    /// Whether the process that made the store was killed before it made a table. Such a store has no downloads.
    private func isUnmade() throws(DiskError) -> Bool {
        guard let status = try PosixDisk().status(path), status.kind == .file,
            status.size == Int64(DatabasePages.pageSize)
        else { return false }
        let page = try pages().page(1)
        // Bytes 103 and 104 are the number of rows of the schema (https://sqlite.org/fileformat2.html#b_tree_pages).
        return page.starts(with: "SQLite format 3\0".utf8) && page.dropFirst(103).prefix(2) == [0, 0]
    }

    /// Whether the store's file is empty or gone, although its mark or its log shows that a store existed.
    private func isEmptied() throws -> Bool {
        guard try PosixDisk().status(path)?.size ?? 0 == 0 else { return false }
        return try [StoreHealth.markPath(path), path + "-wal"].contains { try PosixDisk().status($0)?.size ?? 0 > 0 }
    }

    private static func open(
        _ path: String,
        _ contention: StoreContention,
        _ migrate: (DatabaseMigrator, DatabaseQueue) throws -> Void
    ) throws -> DatabaseQueue {
        // Creates the file first, because SQLite would make it readable by everybody. Does not open an existing file:
        // closing it would release the locks that another connection of this process has on it
        // (https://sqlite.org/howtocorrupt.html §2.2).
        do throws(DiskError) { _ = try PosixFile(path, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600) } catch {
            if error.kind != .alreadyExists { throw error }
        }
        var configuration = GRDB.Configuration()
        configuration.busyMode = .callback { contention.wait(for: path, tries: $0) }
        configuration.prepareDatabase { database in
            // Does not set `journalMode`, because GRDB then writes to each empty log, which costs two syncs.
            guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                throw DownloadError(.storeFailed, "The disk of the store \(path) cannot hold a write-ahead log.")
            }
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
            // A list of thousands of downloads changes the same pages repeatedly, so the cache keeps 8 MiB of pages.
            // SQLite copies the log into the database every 32 MiB instead of every 4 MiB, because all callers wait for
            // the copy.
            try database.execute(sql: "PRAGMA cache_size = -8192")
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 8000")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        if try queue.read(Schema.isOfLaterVersion) {
            // A damaged version name looks like the name of a later version.
            if try queue.read(StoreCheck.isDamaged("grdb_migrations")) {
                try queue.close()
                throw StoreDamage()
            }
            throw DownloadError(
                .storeFailed,
                "The store \(path) was written by a newer version of Haul. Update Haul, or name another state folder."
            )
        }
        // `prepare` calls `migrate`, which needs the exclusive lock, for an existing store only. No process of an
        // earlier version uses a new store.
        try Schema.prepare(queue) { try migrate($0, queue) }
        return queue
    }

    // MARK: Salvaging

    /// Replaces the damaged store by a new store with the readable rows.
    ///
    /// The new store is complete and synced before the damaged one is moved, so that a process killed in between loses
    /// neither.
    private func salvage() throws -> SalvagedStore {
        let kept = try freeName()
        // Creates an empty file if the store's file is gone, so that the log and the index of the lost store are set
        // aside and do not stay beside the new store.
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

    /// Finishes a salvage whose process was killed after it had moved the damaged store away.
    private func finishSalvage() throws(DiskError) {
        guard try PosixDisk().status(path) == nil, try PosixDisk().status(salvagedPath) != nil else { return }
        try moveAway(to: try freeName())
        try PosixDisk().rename(salvagedPath, to: path, replacing: false)
    }

    /// Moves the files of the damaged store away. Moves the database first: without it, a log and an index that are
    /// still at the old path belong to no store.
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

    /// Returns the suffixes of a database's existing files. The empty suffix of the database itself comes first.
    private static func suffixes(of path: String) throws(DiskError) -> [String] {
        var found: [String] = []
        for suffix in ["", "-wal", "-shm"] where try PosixDisk().status(path + suffix) != nil { found.append(suffix) }
        return found
    }

    /// Returns the result of an earlier salvage; `nil` once the damaged store is gone.
    private func keptSalvage(_ queue: DatabaseQueue) throws -> SalvagedStore? {
        let sql = "SELECT value FROM setting WHERE name = ? AND typeof(value) = 'text'"
        let text = try queue.read { try String.fetchOne($0, sql: sql, arguments: [Self.setting]) }
        // Ignores an unreadable value, because no download depends on it.
        guard let text, let salvaged = try? JSONDecoder().decode(SalvagedStore.self, from: Data(text.utf8)),
            try PosixDisk().status(salvaged.path) != nil
        else { return nil }
        return salvaged
    }
}
