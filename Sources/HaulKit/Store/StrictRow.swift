internal import Foundation
internal import GRDB

/// Error for a column with an unexpected value.
struct OddValue: Error {
    let column: String
}

extension Row {
    /// Returns the value of a column; `nil` for NULL. GRDB's own subscripts end the process on a value of another type,
    /// which somebody who edited the store may have put there.
    func value<Value: DatabaseValueConvertible>(_ column: Int, as type: Value.Type = Value.self) throws(OddValue)
        -> Value?
    {
        let stored: DatabaseValue = self[column]
        if stored.isNull { return nil }
        guard let value = Value.fromDatabaseValue(stored) else { throw OddValue(column: "\(column)") }
        return value
    }

    /// Returns the value of a column that must not be NULL.
    func required<Value: DatabaseValueConvertible>(_ column: Int, as type: Value.Type = Value.self) throws(OddValue)
        -> Value
    {
        guard let value = try value(column, as: type) else { throw OddValue(column: "\(column)") }
        return value
    }

    /// Returns the value of a named column; `nil` for NULL, and if there is no such column.
    func value<Value: DatabaseValueConvertible>(_ column: String, as type: Value.Type = Value.self) throws(OddValue)
        -> Value?
    {
        let stored: DatabaseValue = self[column] ?? .null
        if stored.isNull { return nil }
        guard let value = Value.fromDatabaseValue(stored) else { throw OddValue(column: column) }
        return value
    }

    /// Returns the value of a named column that must not be NULL.
    func required<Value: DatabaseValueConvertible>(_ column: String, as type: Value.Type = Value.self) throws(OddValue)
        -> Value
    {
        guard let value = try value(column, as: type) else { throw OddValue(column: column) }
        return value
    }

    /// Returns a sum or a count; a value that is not a number counts as 0.
    func sum(_ column: String) -> Int64 {
        let stored: DatabaseValue = self[column] ?? .null
        switch stored.storage {
        case .int64(let number): return number
        case .double(let number): return number.isNaN ? 0 : Int64(Swift.min(Swift.max(number, -0x1p62), 0x1p62))
        case .null, .string, .blob: return 0
        }
    }
}
