internal import Foundation
internal import GRDB

/// Check of a store before its use. SQLite itself finds a damaged page only when it reads that page.
enum StoreCheck: Sendable, Equatable {
    /// No check: the file is as a user of the store left it, or there is no content to check.
    case none
    /// SQLite checks every page: half a second for a million downloads.
    case pages
    /// SQLite also compares every index with its table: four seconds for a million downloads.
    case everything

    /// Size in bytes up to which every check of a store is `everything`, which then takes tenths of a second.
    private static let largestForEverything: Int64 = 64 << 20

    /// - Parameters:
    ///   - left: mark of the store when it was last intact; `nil` if unknown.
    ///   - present: mark of the file now; `nil` if there is no file.
    init(left: StoreMark?, present: StoreMark?) {
        guard let present, present.size > 0 else {
            self = .none
            return
        }
        if let left, left.isSameContent(as: present) {
            self = .none
        } else if let left, left.inode == present.inode, left.bootID == present.bootID,
            present.size > Self.largestForEverything
        {
            // A process was killed on the same boot. The kernel has everything that SQLite wrote, so the pages suffice.
            self = .pages
        } else {
            self = .everything
        }
    }

    /// Returns a function that compares a table with its indexes, and returns whether the table is damaged.
    static func isDamaged(_ table: String) -> (Database) throws -> Bool {
        { try String.fetchOne($0, sql: "PRAGMA integrity_check('\(table)')") != "ok" }
    }

    /// - Throws: ``StoreDamage``, or the error of SQLite.
    func run(_ database: Database) throws {
        guard self != .none else { return }
        // Compares the names of columns and foreign keys too: if one of them is wrong, each statement that uses the
        // table fails.
        let tables = """
            SELECT type || ' ' || name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' UNION ALL
            SELECT 'column ' || m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
            UNION ALL
            SELECT 'reference ' || m.name || '.' || r."from" || ' ' || r."table" || '.' || coalesce(r."to", 'id') || ' ' || r.on_delete
            FROM sqlite_master m, pragma_foreign_key_list(m.name) r WHERE m.type = 'table'
            """
        let expected = try Schema.databaseInMemory().read { try String.fetchAll($0, sql: tables) }
        guard try Set(String.fetchAll(database, sql: tables)).isSuperset(of: expected) else { throw StoreDamage() }
        let pragma = self == .pages ? "quick_check" : "integrity_check"
        guard try String.fetchOne(database, sql: "PRAGMA \(pragma)(1)") == "ok" else { throw StoreDamage() }
    }
}

/// Error for a store whose file is not as SQLite wrote it.
struct StoreDamage: Error {
    /// Whether an error of opening or reading a store means that the store is damaged.
    ///
    /// - Parameter isWritable: whether the kernel lets this process write the file. A damaged header can make SQLite
    ///   report the file as read-only.
    static func isMeant(by error: any Error, isWritable: Bool) -> Bool {
        if error is StoreDamage { return true }
        guard let error = error as? DatabaseError else {
            // Any other error comes from a value that GRDB cannot decode.
            return !(error is DownloadError || error is DiskError || error is SystemCalls.Errno)
        }
        switch error.resultCode {
        // SQLite reports `SQLITE_ERROR` if a table or a column has another name now.
        case .SQLITE_NOTADB, .SQLITE_CORRUPT, .SQLITE_ERROR, .SQLITE_FORMAT, .SQLITE_MISMATCH: return true
        case .SQLITE_READONLY: return isWritable && error.extendedResultCode == .SQLITE_READONLY
        default: return false
        }
    }
}

/// Attributes of a store's file. At least one of them is different after a change of the file, and in a copy of it. The
/// present ones are compared with those of the time when the file was last known to be intact.
struct StoreMark: Sendable, Equatable {
    let inode: UInt64
    let size: Int64
    /// Times of modification and of status change, in nanoseconds since 1970. No program can set the latter.
    let modified: Int64
    let changed: Int64
    let bootID: String

    func isSameContent(as other: StoreMark) -> Bool {
        (inode, size, modified, changed) == (other.inode, other.size, other.modified, other.changed)
    }

    init(inode: UInt64, size: Int64, modified: Int64, changed: Int64, bootID: String) {
        (self.inode, self.size, self.modified, self.changed) = (inode, size, modified, changed)
        self.bootID = bootID
    }

    // MARK: As text

    private static let version = "1"

    var text: String {
        [Self.version, "\(inode)", "\(size)", "\(modified)", "\(changed)", bootID].joined(separator: " ")
    }

    /// - Returns: `nil` if `text` does not have the form of ``text``.
    init?(text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0] == Self.version, let inode = UInt64(words[1]),
            let size = Int64(words[2]), let modified = Int64(words[3]), let changed = Int64(words[4])
        else { return nil }
        self.init(inode: inode, size: size, modified: modified, changed: changed, bootID: String(words[5]))
    }
}
