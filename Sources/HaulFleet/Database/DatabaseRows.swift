internal import CLibPQ

/// The rows of a result, copied out of libpq's memory.
struct DatabaseRows: Sendable {
    private struct Cell: Sendable {
        var start: Int
        /// A negative length marks NULL.
        var length: Int
    }

    let columns: Int
    let count: Int
    /// Number of rows from the command tag (`PQcmdTuples`); 0 if the tag has no number.
    let affected: Int
    private let bytes: [UInt8]
    private let cells: [Cell]

    static let none = DatabaseRows()

    private init() { (columns, count, affected, bytes, cells) = (0, 0, 0, [], []) }

    /// - Parameter result: a `PGresult`, which the caller clears.
    init(copying result: OpaquePointer) {
        let (rows, columns) = (Swift.max(0, PQntuples(result)), Swift.max(0, PQnfields(result)))
        var (bytes, cells): ([UInt8], [Cell]) = ([], [])
        cells.reserveCapacity(Int(rows) * Int(columns))
        for row in 0..<rows {
            for column in 0..<columns {
                let length = PQgetlength(result, row, column)
                guard PQgetisnull(result, row, column) == 0, length >= 0,
                    let value = PQgetvalue(result, row, column)
                else {
                    cells.append(Cell(start: 0, length: -1))
                    continue
                }
                cells.append(Cell(start: bytes.count, length: Int(length)))
                bytes.append(contentsOf: UnsafeRawBufferPointer(start: value, count: Int(length)))
            }
        }
        (count, self.columns) = (Int(rows), Int(columns))
        affected = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
        (self.bytes, self.cells) = (bytes, cells)
    }

    /// Returns the bytes of a cell; `nil` for NULL and for a missing cell.
    fileprivate func value(_ row: Int, _ column: Int) -> ArraySlice<UInt8>? {
        guard row >= 0, row < count, column >= 0, column < columns else { return nil }
        let cell = cells[row * columns + column]
        return cell.length < 0 ? nil : bytes[cell.start..<cell.start + cell.length]
    }
}

extension DatabaseRows: Sequence {
    func makeIterator() -> some IteratorProtocol<DatabaseRow> {
        (0..<count).lazy.map { DatabaseRow(rows: self, number: $0) }.makeIterator()
    }

    var first: DatabaseRow? { count > 0 ? DatabaseRow(rows: self, number: 0) : nil }
}

/// One row. The accessors throw ``FleetError/Code/statementFailed`` if a value has an unexpected form: the schema is
/// then not the expected one.
struct DatabaseRow: Sendable {
    fileprivate let rows: DatabaseRows
    fileprivate let number: Int

    func isNull(_ column: Int) -> Bool { rows.value(number, column) == nil }

    func optionalText(_ column: Int) -> String? {
        rows.value(number, column).map { String(decoding: $0, as: UTF8.self) }
    }

    func text(_ column: Int) throws(FleetError) -> String {
        guard let text = optionalText(column) else { throw unexpected(column) }
        return text
    }

    func optionalInt<Value: FixedWidthInteger>(_ column: Int, as: Value.Type = Value.self) throws(FleetError) -> Value?
    {
        guard let text = optionalText(column) else { return nil }
        guard let value = Value(text) else { throw unexpected(column) }
        return value
    }

    func int<Value: FixedWidthInteger>(_ column: Int, as: Value.Type = Value.self) throws(FleetError) -> Value {
        guard let value = try optionalInt(column, as: Value.self) else { throw unexpected(column) }
        return value
    }

    func double(_ column: Int) throws(FleetError) -> Double {
        guard let value = optionalText(column).flatMap(Double.init), value.isFinite else { throw unexpected(column) }
        return value
    }

    func bool(_ column: Int) throws(FleetError) -> Bool {
        switch optionalText(column) {
        case "t": true
        case "f": false
        default: throw unexpected(column)
        }
    }

    func bytes(_ column: Int) throws(FleetError) -> [UInt8] {
        guard let bytes = try optionalBytes(column) else { throw unexpected(column) }
        return bytes
    }

    /// Reads a `bytea` of the form `\xHEX`.
    func optionalBytes(_ column: Int) throws(FleetError) -> [UInt8]? {
        guard let text = rows.value(number, column) else { return nil }
        guard text.starts(with: "\\x".utf8), text.count.isMultiple(of: 2) else { throw unexpected(column) }
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.dropFirst(2) {
            guard let value = Character(UnicodeScalar(digit)).hexDigitValue else { throw unexpected(column) }
            if let first = high {
                bytes.append(first << 4 | UInt8(value))
                high = nil
            } else {
                high = UInt8(value)
            }
        }
        return bytes
    }

    /// Reads milliseconds; a negative number gives zero.
    func milliseconds(_ column: Int) throws(FleetError) -> Duration {
        .milliseconds(max(0, try int(column, as: Int64.self)))
    }

    private func unexpected(_ column: Int) -> FleetError {
        FleetError(.statementFailed, "The database answered column \(column) in a form that is not expected.")
    }
}
