internal import Foundation
internal import GRDB

/// Writes records as rows with hand-written statements. GRDB's statements from `Codable` encode every column each time,
/// which costs as much as ten transactions of SQLite. Reading is left to GRDB.
///
/// Use only on the store's writer; not to be shared.
struct RecordWriter {
    /// Last written record of an active download with its encoded columns. Kept because most writes change one column.
    private struct Written {
        var record: DownloadRecord
        var resource: String?
        var part: String?
    }
    private var written: [String: Written] = [:]
    /// Last encoded options, because the downloads of one list share them.
    private var options: (value: DownloadRequest, text: String)?
    private var texts = ColumnTexts()

    /// Inserts or updates the row of a record.
    mutating func write(_ record: DownloadRecord, _ database: Database) throws {
        let before = written[record.id]
        let resource =
            if let before, before.record.resource == record.resource { before.resource } else {
                try record.resource.map { try texts.of($0) }
            }
        let part =
            if let before, before.record.part == record.part { before.part } else { record.part.map { texts.of($0) } }
        let now = Written(record: record, resource: resource, part: part)
        if let before, Self.asksTheSame(before.record, record) {
            var statement = try BoundStatement(Self.update, database)
            try bindChanging(now, to: &statement)
            statement.bind(record.id)
            try statement.run()
            // Writes the whole row if another process has removed it.
            if database.changesCount == 0 { try insert(now, database) }
        } else {
            try insert(now, database)
        }
        switch record.status {
        case .queued, .publishing: if before != nil || written.count < Self.mostKept { written[record.id] = now }
        case .paused, .completed, .failed: written[record.id] = nil
        }
    }

    /// Forgets the written values of a row that is gone or that somebody else may change.
    mutating func forget(_ id: String) { written[id] = nil }

    private mutating func insert(_ row: Written, _ database: Database) throws {
        let record = row.record
        var statement = try BoundStatement(Self.upsert, database)
        statement.bind(record.id)
        let request = record.request
        statement.bind(request.url.absoluteString)
        statement.bind(record.folder)
        statement.bind(record.file)
        statement.bind(try text(request.options))
        statement.bind(StoreDate.text(record.createdAt))
        statement.bind(request.key)
        statement.bind(request.group)
        statement.bind(request.owner)
        statement.bind(request.metadata?.json)
        statement.bind(record.host)
        statement.bind(record.link?.url.absoluteString)
        statement.bind(try record.link?.headers.map { try texts.json($0) })
        statement.bind(record.isRepair ? 1 : 0)
        try bindChanging(row, to: &statement)
        try statement.run()
    }

    /// Binds values in the order of ``changing``.
    private mutating func bindChanging(_ row: Written, to statement: inout BoundStatement) throws {
        let record = row.record
        statement.bind(record.status.rawValue)
        statement.bind(record.partPath)
        statement.bind(record.finalPath)
        statement.bind(row.resource)
        statement.bind(row.part)
        statement.bind(record.finished.map { texts.of($0) })
        statement.bind(try record.error.map { try texts.json($0) })
        statement.bind(record.ownerNumber)
        statement.bind(record.startedAt.flatMap(StoreDate.text))
        statement.bind(record.finishedAt.flatMap(StoreDate.text))
        statement.bind(Int64(record.request.priority))
        statement.bind(record.position)
        statement.bind(record.total)
        statement.bind(record.hold?.rawValue)
        statement.bind(record.proof?.rawValue)
        statement.bind(record.linkExpiresAt.flatMap(StoreDate.text))
    }

    private mutating func text(_ value: DownloadRequest) throws -> String {
        if let options, options.value == value { return options.text }
        let text = try texts.json(value)
        options = (value, text)
        return text
    }

    private static func asksTheSame(_ one: DownloadRecord, _ other: DownloadRecord) -> Bool {
        one.request == other.request && one.link == other.link && one.isRepair == other.isRepair
            && one.createdAt == other.createdAt && one.host == other.host
    }

    /// Limit of records in `written`, because few of 100,000 waiting downloads are written again soon.
    private static let mostKept = 1024

    // MARK: Statements

    private static let asked = [
        "id", "url", "folder", "file", "request", "createdAt", "key", "groupName", "owner", "metadata", "host", "link",
        "linkHeaders", "isRepair",
    ]
    private static let changing = [
        "status", "partPath", "finalPath", "resource", "part", "finished", "error", "ownerNumber", "startedAt",
        "finishedAt",
        "priority", "position", "total", "hold", "proof", "linkExpiresAt",
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
}
