internal import Foundation
internal import GRDB

/// Whether a store has to be looked through before it is used. SQLite itself finds a damaged page only when it reads it.
enum StoreCheck: Sendable, Equatable {
    /// The file is as a user of the store left it.
    case none
    /// Every page is looked at: half a second for a million downloads.
    case pages
    /// Every index is compared with its table as well: four seconds for a million downloads.
    case everything

    /// Largest store that is always looked through completely, in bytes: tenths of a second.
    private static let largestForEverything: Int64 = 64 << 20

    /// - Parameters:
    ///   - left: what was noted when the store was last intact; nil when that is not known.
    ///   - present: the file now; nil when there is none.
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
            // Killed: what SQLite wrote is all there.
            self = .pages
        } else {
            self = .everything
        }
    }

    /// Compares a table with its indexes.
    static func isDamaged(_ table: String) -> (Database) throws -> Bool {
        { try String.fetchOne($0, sql: "PRAGMA integrity_check('\(table)')") != "ok" }
    }

    /// - Throws: ``StoreDamage``, and whatever SQLite cannot do.
    func run(_ database: Database) throws {
        guard self != .none else { return }
        // The names of columns and of what they refer to as well: another name is an error of SQL each time that the table is used.
        let tables = """
            SELECT type || ' ' || name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' UNION ALL
            SELECT 'column ' || m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
            UNION ALL
            SELECT 'reference ' || m.name || '.' || r."from" || ' ' || r."table" || '.' || coalesce(r."to", 'id') || ' ' || r.on_delete
            FROM sqlite_master m, pragma_foreign_key_list(m.name) r WHERE m.type = 'table'
            """
        let expected = try StoreFile.inMemory().queue.read { try String.fetchAll($0, sql: tables) }
        guard try Set(String.fetchAll(database, sql: tables)).isSuperset(of: expected) else { throw StoreDamage() }
        let pragma = self == .pages ? "quick_check" : "integrity_check"
        guard try String.fetchOne(database, sql: "PRAGMA \(pragma)(1)") == "ok" else { throw StoreDamage() }
    }
}

/// The store's file is not what SQLite wrote.
struct StoreDamage: Error {
    /// Whether an error of opening or reading a store says that it is damaged.
    ///
    /// - Parameter isWritable: whether the system lets the file be written: SQLite may have read that it must not be.
    static func isMeant(by error: any Error, isWritable: Bool) -> Bool {
        if error is StoreDamage { return true }
        guard let error = error as? DatabaseError else {
            // A value that the library cannot decode.
            return !(error is DownloadError || error is DiskError || error is SystemCalls.Errno)
        }
        switch error.resultCode {
        // A table or a column that is there has another name now: an error of SQL.
        case .SQLITE_NOTADB, .SQLITE_CORRUPT, .SQLITE_ERROR, .SQLITE_FORMAT, .SQLITE_MISMATCH: return true
        case .SQLITE_READONLY: return isWritable && error.extendedResultCode == .SQLITE_READONLY
        default: return false
        }
    }
}

/// What the file of a store was like when it was last known to be intact. Whoever changes it, or copies it, changes this.
struct StoreMark: Sendable, Equatable {
    let inode: UInt64
    let size: Int64
    /// Modification and change of the file, in nanoseconds since 1970. No program sets the latter.
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

    /// - Returns: nil for what ``text`` never was.
    init?(text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0] == Self.version, let inode = UInt64(words[1]),
            let size = Int64(words[2]), let modified = Int64(words[3]), let changed = Int64(words[4])
        else { return nil }
        self.init(inode: inode, size: size, modified: modified, changed: changed, bootID: String(words[5]))
    }
}
