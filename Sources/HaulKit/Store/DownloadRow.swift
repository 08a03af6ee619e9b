internal import Foundation
internal import GRDB

/// Writes records as rows by statements of our own: what the library derives from `Codable` encodes every column anew
/// each time, and costs as much as ten transactions of SQLite. Reading is left to the library.
///
/// Belongs to the store's writer: not to be shared.
struct DownloadRow {
    /// What was last written of a download that is not at rest, as text where it is text: most writes change one column.
    private struct Written {
        var record: DownloadRecord
        var resource: DatabaseValue
        var part: DatabaseValue
    }
    private var written: [String: Written] = [:]
    /// Downloads of one list share their wishes.
    private var wishes: (value: DownloadRecord.Wishes, text: DatabaseValue)?
    /// The second of the last date that was written, and its text up to the dot.
    private var second: (number: Int64, text: String)?
    private let encoder: JSONEncoder

    init() { encoder = DownloadRecord.databaseJSONEncoder(for: "") }

    /// Writes a record, whether its row is there or not.
    mutating func write(_ record: DownloadRecord, _ database: Database) throws {
        let before = written[record.id]
        let resource =
            try before.flatMap { $0.record.resource == record.resource ? $0.resource : nil }
            ?? json(record.resource)
        let part = before.flatMap { $0.record.part == record.part ? $0.part : nil } ?? Self.text(record.part)
        let changing = [
            record.status.rawValue.databaseValue, record.partPath.databaseValue, record.finalPath.databaseValue,
            resource,
            part, Self.text(record.finished), try json(record.error), record.owner.databaseValue,
            text(record.startedAt), text(record.finishedAt),
        ]
        if let before, Self.asksTheSame(before.record, record) {
            try Self.execute(Self.update, changing + [record.id.databaseValue], database)
            // Another process may have removed it; then it is written whole.
            if database.changesCount == 0 { try insert(record, changing, database) }
        } else {
            try insert(record, changing, database)
        }
        switch record.status {
        case .queued, .publishing: written[record.id] = Written(record: record, resource: resource, part: part)
        case .paused, .completed, .failed: written[record.id] = nil
        }
    }

    /// The row is gone, or somebody else may change it.
    mutating func forget(_ id: String) { written[id] = nil }

    private mutating func insert(_ record: DownloadRecord, _ changing: [DatabaseValue], _ database: Database) throws {
        let wishes = try text(record.wishes)
        let asked = [
            record.id.databaseValue, record.url.databaseValue, record.folder.databaseValue, record.file.databaseValue,
            wishes, text(record.createdAt),
        ]
        try Self.execute(Self.upsert, asked + changing, database)
    }

    // MARK: Statements

    private static let asked = ["id", "url", "folder", "file", "wishes", "createdAt"]
    private static let changing = [
        "status", "partPath", "finalPath", "resource", "part", "finished", "error", "owner", "startedAt", "finishedAt",
    ]
    private static let upsert: String = {
        let columns = asked + changing
        return """
            INSERT INTO download (\(columns.joined(separator: ", ")))
            VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
            ON CONFLICT (id) DO UPDATE SET \(columns.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """
    }()
    private static let update = """
        UPDATE download SET \(changing.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = ?
        """

    private static func asksTheSame(_ one: DownloadRecord, _ other: DownloadRecord) -> Bool {
        one.url == other.url && one.folder == other.folder && one.file == other.file && one.wishes == other.wishes
            && one.createdAt == other.createdAt
    }

    private static func execute(_ sql: String, _ values: [DatabaseValue], _ database: Database) throws {
        let statement = try database.cachedStatement(sql: sql)
        // As a list of optionals: the other form reads each value through a key path.
        try statement.execute(arguments: StatementArguments(values as [(any DatabaseValueConvertible)?]))
    }

    // MARK: Values

    private mutating func text(_ value: DownloadRecord.Wishes) throws -> DatabaseValue {
        if let wishes, wishes.value == value { return wishes.text }
        let text = try json(value)
        wishes = (value, text)
        return text
    }

    private func json(_ value: (some Encodable)?) throws -> DatabaseValue {
        guard let value else { return .null }
        return String(decoding: try encoder.encode(value), as: UTF8.self).databaseValue
    }

    /// The form of `JSONEncoder`, for the one value that every file has several of.
    private static func text(_ status: FileStatus?) -> DatabaseValue {
        guard let status else { return .null }
        // Added up from strings: interpolating a number goes the long way round.
        var text = "{\"allocated\":" + String(status.allocated)
        text += ",\"born\":" + String(status.born)
        text += ",\"device\":" + String(status.device)
        text += ",\"inode\":" + String(status.inode)
        text += ",\"kind\":\"" + status.kind.rawValue
        text += "\",\"modified\":" + String(status.modified)
        text += ",\"size\":" + String(status.size) + "}"
        return text.databaseValue
    }

    /// The library's form, `yyyy-MM-dd HH:mm:ss.SSS` in UTC, without asking its slow formatter more than once a second.
    private mutating func text(_ date: Date?) -> DatabaseValue {
        guard let date else { return .null }
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        // Beyond the years of four digits the library knows best.
        guard milliseconds >= 0, milliseconds < 253_402_300_800_000 else { return date.databaseValue }
        let (whole, rest) = Int64(milliseconds).quotientAndRemainder(dividingBy: 1000)
        if second?.number != whole {
            guard let text = String.fromDatabaseValue(Date(timeIntervalSince1970: Double(whole)).databaseValue) else {
                return date.databaseValue
            }
            second = (whole, String(text.dropLast(3)))
        }
        let digits = String(rest)
        return ((second?.text ?? "") + String(repeating: "0", count: 3 - digits.utf8.count) + digits).databaseValue
    }
}
