internal import Foundation
internal import GRDB

/// A column that holds another kind of value than the one that belongs there.
struct OddValue: Error {
    let column: String
}

extension Row {
    /// The value of a column; nil for NULL. The library's own subscripts end the process for a value of another kind, which
    /// somebody who edited the store may have put there.
    func value<Value: DatabaseValueConvertible>(_ column: Int, as type: Value.Type = Value.self) throws(OddValue)
        -> Value?
    {
        let stored: DatabaseValue = self[column]
        if stored.isNull { return nil }
        guard let value = Value.fromDatabaseValue(stored) else { throw OddValue(column: "\(column)") }
        return value
    }

    /// The same for a column that must have a value.
    func required<Value: DatabaseValueConvertible>(_ column: Int, as type: Value.Type = Value.self) throws(OddValue)
        -> Value
    {
        guard let value = try value(column, as: type) else { throw OddValue(column: "\(column)") }
        return value
    }

    /// The value of the column of a name; nil for NULL, and where there is no such column.
    func value<Value: DatabaseValueConvertible>(_ column: String, as type: Value.Type = Value.self) throws(OddValue)
        -> Value?
    {
        let stored: DatabaseValue = self[column] ?? .null
        if stored.isNull { return nil }
        guard let value = Value.fromDatabaseValue(stored) else { throw OddValue(column: column) }
        return value
    }

    /// The same for a column that must have a value.
    func required<Value: DatabaseValueConvertible>(_ column: String, as type: Value.Type = Value.self) throws(OddValue)
        -> Value
    {
        guard let value = try value(column, as: type) else { throw OddValue(column: column) }
        return value
    }

    /// A number that was added up or counted; whatever is none counts as 0.
    func sum(_ column: String) -> Int64 {
        let stored: DatabaseValue = self[column] ?? .null
        switch stored.storage {
        case .int64(let number): return number
        case .double(let number): return number.isNaN ? 0 : Int64(Swift.min(Swift.max(number, -0x1p62), 0x1p62))
        case .null, .string, .blob: return 0
        }
    }
}
