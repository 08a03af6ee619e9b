internal import Foundation
internal import GRDB

/// Reads many rows of waiting downloads: by the places of their columns, with what they share read once. What the library
/// derives from `Codable` looks every column up by name, several times, and decodes the same wishes for each row.
///
/// Belongs to one reading: not to be kept.
struct RowReader {
    /// A row in the order in which ``saved(_:)`` reads it. What follows a row's own columns is its progress, if it has any.
    static let sql = """
        SELECT download.id, url, folder, file, status, wishes, createdAt, key, groupName, belongsTo, metadata, host,
            priority, position, total, hold, owner, partPath, finalPath, startedAt,
            coalesce(resource, part, finished, error, finishedAt, proof, linkExpiresAt) IS NULL,
            progress.written, progress.synced, progress.bootID, progress.received, download.rowid
        FROM download LEFT JOIN progress ON progress.downloadID = download.id
        """

    private var wishes: (text: String, value: DownloadRecord.Wishes)?
    private var created: (text: String, value: Date)?

    /// - Returns: nil for a row that cannot be read, which is then one of the odd ones.
    mutating func saved(_ row: Row, _ database: Database, _ odd: inout OddRows) throws -> DownloadStore.Saved? {
        if let saved = waiting(row) { return saved }
        // What has begun already says more, and is rare among those that wait.
        let number: Int64 = try row.required(25)
        return try Row.fetchOne(
            database,
            sql: "SELECT \(OddRows.columns) FROM download WHERE rowid = ?",
            arguments: [number]
        ).flatMap { try odd.saved($0, database) }
    }

    /// - Returns: nil for one that has begun, and for one of which a value is odd.
    private mutating func waiting(_ row: Row) -> DownloadStore.Saved? {
        do {
            guard try row.required(20, as: Bool.self), let record = try record(row), record.isPlausible else {
                return nil
            }
            var progress: ProgressRecord?
            if let written: String = try row.value(21), let synced: String = try row.value(22),
                let bootID: String = try row.value(23)
            {
                let received: Int64 = try row.value(24) ?? 0
                progress = ProgressRecord(
                    record.id,
                    written: written,
                    synced: synced,
                    bootID: bootID,
                    received: received
                )
            }
            return DownloadStore.Saved(record: record, progress: progress)
        } catch {
            // Read by its names, it says what is wrong with it.
            return nil
        }
    }

    private mutating func record(_ row: Row) throws(OddValue) -> DownloadRecord? {
        let status: String = try row.required(4)
        let date: DatabaseValue = row[6]
        guard let status = DownloadRecord.Status(rawValue: status), let wishes = readWishes(try row.required(5)),
            let createdAt = readDate(date)
        else { return nil }
        var record = DownloadRecord(
            id: try row.required(0),
            url: try row.required(1),
            status: status,
            wishes: wishes,
            createdAt: createdAt
        )
        (record.folder, record.file) = (try row.value(2), try row.value(3))
        (record.key, record.groupName, record.belongsTo) = (try row.value(7), try row.value(8), try row.value(9))
        (record.metadata, record.host) = (try row.value(10), try row.value(11))
        (record.priority, record.position) = (try row.required(12), try row.required(13))
        record.total = try row.value(14)
        record.hold = try row.value(15, as: String.self).flatMap(HoldReason.init)
        (record.owner, record.partPath, record.finalPath) = (try row.value(16), try row.value(17), try row.value(18))
        record.startedAt = try row.value(19)
        return record
    }

    private mutating func readWishes(_ text: String) -> DownloadRecord.Wishes? {
        if let wishes, wishes.text == text { return wishes.value }
        let decoder = DownloadRecord.databaseJSONDecoder(for: "wishes")
        guard let value = try? decoder.decode(DownloadRecord.Wishes.self, from: Data(text.utf8)) else { return nil }
        wishes = (text, value)
        return value
    }

    /// Those that were added together have one date.
    private mutating func readDate(_ value: DatabaseValue) -> Date? {
        guard let text = String.fromDatabaseValue(value) else { return Date.fromDatabaseValue(value) }
        if let created, created.text == text { return created.value }
        guard let date = Date.fromDatabaseValue(value) else { return nil }
        created = (text, date)
        return date
    }
}

extension DownloadRecord {
    fileprivate init(id: String, url: String, status: Status, wishes: Wishes, createdAt: Date) {
        self.id = id
        self.url = url
        self.status = status
        self.wishes = wishes
        self.createdAt = createdAt
    }
}

extension ProgressRecord {
    fileprivate init(_ id: String, written: String, synced: String, bootID: String, received: Int64) {
        downloadID = id
        self.written = written
        self.synced = synced
        self.bootID = bootID
        self.received = received
    }
}
