internal import Foundation
internal import GRDB

/// Reads the cookie database of a browser. Reads a copy, because the browser may be writing to the database.
enum CookieDatabase {
    /// - Throws: `DiskError`, of kind `fileTooLarge` for a database or log above 64 MiB; `DatabaseError`.
    static func cookies(at path: String) throws -> Cookies {
        let folder = try temporaryFolder()
        // A copy that cannot be removed is readable by this user alone.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let copy = FilePaths.join(folder, "cookies")
        // Resolves symbolic links, because SQLite keeps the log beside the target.
        try CopiedDatabase(of: URL(fileURLWithPath: path).resolvingSymlinksInPath().path).write(to: copy)
        return try read(copy)
    }

    /// Creates a folder that only this user can read.
    private static func temporaryFolder() throws(DiskError) -> String {
        let path = FilePaths.join(FileManager.default.temporaryDirectory.path, "haul-cookies-\(UUID().uuidString)")
        do { try SystemCalls.makeFolder(path, mode: 0o700) } catch {
            throw DiskError(errno: error.code, call: "mkdir", path: path)
        }
        return path
    }

    private static func read(_ path: String) throws -> Cookies {
        var configuration = GRDB.Configuration()
        configuration.label = "cookies"
        // The file may come from anybody: its schema may run no unsafe functions, and SQLite checks the cells of its
        // pages.
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }  // the error does not matter: the copy was only read
        return try queue.read { database in
            for table in CookieTable.known {
                if let columns = try table.columns(in: database) { return try table.cookies(in: database, columns) }
            }
            throw DatabaseError(message: "It has no table of cookies.")
        }
    }
}

/// Bytes of a database and of its write-ahead log at one moment.
private struct CopiedDatabase {
    private var main: [UInt8] = []
    private var log: [UInt8]?
    private static let mostBytes: Int64 = 64 << 20
    private static let mostTries = 5

    /// Reads both files until neither changes during a reading, at most `mostTries` times. Keeps the last reading in
    /// any case, because SQLite detects an inconsistent copy.
    init(of path: String) throws(DiskError) {
        let disk = PosixDisk()
        for _ in 0..<Self.mostTries {
            let file = try PosixFile.reading(path)
            let before = (try file.status(), try disk.status(path + "-wal"))
            main = try Self.bytes(of: file)
            log = before.1?.kind == .file ? try Self.bytes(of: try PosixFile.reading(path + "-wal")) : nil
            let after = (try file.status(), try disk.status(path + "-wal"))
            if Self.isUnchanged(before.0, after.0), Self.isUnchanged(before.1, after.1) { return }
        }
    }

    private static func isUnchanged(_ before: FileStatus?, _ after: FileStatus?) -> Bool {
        before?.size == after?.size && before?.modified == after?.modified && before?.inode == after?.inode
    }

    private static func bytes(of file: PosixFile) throws(DiskError) -> [UInt8] {
        let size = try file.size()
        guard size <= mostBytes else { throw DiskError(.fileTooLarge, call: "read", path: file.path) }
        return try file.read(at: 0, count: Int(size))
    }

    func write(to path: String) throws(DiskError) {
        try Self.write(main, to: path)
        if let log { try Self.write(log, to: path + "-wal") }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(DiskError) {
        let file = try PosixFile(path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        do {
            var rest = bytes[...]
            while !rest.isEmpty { rest = rest.dropFirst(try SystemCalls.write(file.descriptor, rest)) }
        } catch { throw DiskError(errno: error.code, call: "write", path: path) }
    }
}
