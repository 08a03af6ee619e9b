internal import Foundation
internal import GRDB

/// A value of a row, read without SQLite.
enum StoredValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .real(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }

    /// Decodes the values of a record (https://sqlite.org/fileformat2.html#record_format). Returns `nil` for bytes that
    /// are no record, and for a text that is not UTF-8.
    static func record(_ bytes: [UInt8]) -> [StoredValue]? {
        var header = VarintReader(bytes, at: 0)
        guard let headerSize = header.next(), headerSize <= bytes.count else { return nil }
        var values: [StoredValue] = []
        var offset = Int(headerSize)
        while header.offset < headerSize {
            guard let type = header.next(), let value = value(type, bytes, &offset) else { return nil }
            values.append(value)
        }
        return header.offset == headerSize && offset == bytes.count ? values : nil
    }

    private static func value(_ type: Int64, _ bytes: [UInt8], _ offset: inout Int) -> StoredValue? {
        let length: Int64
        switch type {
        case 0, 8, 9: length = 0
        case 1...4: length = type
        case 5: length = 6
        case 6, 7: length = 8
        case 12...: length = (type - 12) / 2
        default: return nil
        }
        guard length <= bytes.count - offset else { return nil }
        let content = bytes[offset..<offset + Int(length)]
        offset += Int(length)
        switch type {
        case 0: return .null
        case 8, 9: return .integer(type - 8)
        case 7: return .real(Double(bitPattern: content.reduce(0) { $0 << 8 | UInt64($1) }))
        case 1...6:
            let isNegative = content.first.map { $0 >= 0x80 } ?? false
            return .integer(content.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
        case _ where type % 2 == 0: return .blob(Array(content))
        default: return String(validating: content, as: UTF8.self).map { .text($0) }
        }
    }
}

/// Reads the variable-length integers of a page one after another.
struct VarintReader {
    private let bytes: [UInt8]
    private(set) var offset: Int

    init(_ bytes: [UInt8], at offset: Int) { (self.bytes, self.offset) = (bytes, offset) }

    /// - Returns: `nil` beyond the end.
    mutating func next() -> Int64? {
        var value: UInt64 = 0
        for count in 1...9 {
            guard offset < bytes.count else { return nil }
            let byte = bytes[offset]
            offset += 1
            if count == 9 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return Int64(bitPattern: value) }
        }
        return nil
    }
}
