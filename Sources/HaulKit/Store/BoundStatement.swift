internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// Binds values to an SQLite statement one after another. Replaces GRDB's lists of boxed values, which cost more time
/// than SQLite's own work on a row.
struct BoundStatement {
    private let statement: SQLiteStatement
    private var count: Int32 = 0

    /// - Parameter sql: SQL text. The connection keeps its prepared statement for the next use.
    init(_ sql: String, _ database: Database) throws {
        statement = try database.cachedStatement(sql: sql).sqliteStatement
        sqlite3_reset(statement)
    }

    mutating func bind(_ text: String?) {
        count += 1
        guard var text else {
            sqlite3_bind_null(statement, count)
            return
        }
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                // An empty text may have no base address, and SQLite would bind a null pointer as NULL.
                if let base = bytes.baseAddress {
                    _ = sqlite3_bind_text(statement, count, base, Int32(clamping: bytes.count), Self.copied)
                } else {
                    _ = sqlite3_bind_text(statement, count, "", 0, Self.copied)
                }
            }
        }
    }

    mutating func bind(_ number: Int64?) {
        count += 1
        if let number { sqlite3_bind_int64(statement, count, number) } else { sqlite3_bind_null(statement, count) }
    }

    /// Runs a statement that gives no rows.
    func run() throws {
        let code = sqlite3_step(statement)
        sqlite3_reset(statement)
        guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// Returns the integer in the first column of the first row; `nil` if there is no row.
    func firstInteger() throws -> Int64? {
        let code = sqlite3_step(statement)
        defer { sqlite3_reset(statement) }
        switch code {
        case SQLITE_ROW: return sqlite3_column_int64(statement, 0)
        case SQLITE_DONE: return nil
        default: throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }

    /// Returns the integers in the first column of all rows.
    func integers() throws -> [Int64] {
        var all: [Int64] = []
        try forEach { all.append(sqlite3_column_int64($0.statement, 0)) }
        return all
    }

    /// Calls `read` with each row. A row is valid only until `read` returns.
    func forEach(_ read: (BoundRow) -> Void) throws {
        defer { sqlite3_reset(statement) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: read(BoundRow(statement: statement))
            case SQLITE_DONE: return
            case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
            }
        }
    }

    /// `SQLITE_TRANSIENT`: SQLite copies the bytes that it is passed.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

/// Current row of a ``BoundStatement``. A column with a value of another type reads as `nil`: somebody may have edited
/// the store.
struct BoundRow {
    fileprivate let statement: SQLiteStatement

    func integer(_ column: Int32) -> Int64? {
        sqlite3_column_type(statement, column) == SQLITE_INTEGER ? sqlite3_column_int64(statement, column) : nil
    }

    func withText<Value>(_ column: Int32, _ read: (UnsafeBufferPointer<UInt8>) -> Value) -> Value? {
        guard sqlite3_column_type(statement, column) == SQLITE_TEXT, let text = sqlite3_column_text(statement, column)
        else { return nil }
        return read(UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(statement, column))))
    }
}
