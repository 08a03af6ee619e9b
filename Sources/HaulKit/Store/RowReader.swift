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
            progress.written, progress.synced, progress.bootID, progress.received
        FROM download LEFT JOIN progress ON progress.downloadID = download.id
        """

    private var wishes: (text: String, value: DownloadRecord.Wishes)?
    private var created: (text: String, value: Date)?

    /// - Returns: nil for a row that cannot be read.
    mutating func saved(_ row: Row, _ database: Database) -> DownloadStore.Saved? {
        guard let id: String = row[0], let record = record(row, id, database) else { return nil }
        var progress: ProgressRecord?
        if let written: String = row[21], let synced: String = row[22], let bootID: String = row[23] {
            progress = ProgressRecord(id, written: written, synced: synced, bootID: bootID, received: row[24] ?? 0)
        }
        return DownloadStore.Saved(record: record, progress: progress)
    }

    private mutating func record(_ row: Row, _ id: String, _ database: Database) -> DownloadRecord? {
        // What has begun already says more, and is rare among those that wait. A row that cannot be read must not hide the
        // others.
        guard row[20] as Bool? == true, let url: String = row[1],
            let status = (row[4] as String?).flatMap(DownloadRecord.Status.init), let text: String = row[5],
            let wishes = readWishes(text), let createdAt = readDate(row[6]), let priority: Int = row[12],
            let position: Int64 = row[13]
        else { return try? DownloadRecord.fetchOne(database, key: id) }
        var record = DownloadRecord(id: id, url: url, status: status, wishes: wishes, createdAt: createdAt)
        (record.folder, record.file) = (row[2], row[3])
        (record.key, record.groupName, record.belongsTo) = (row[7], row[8], row[9])
        (record.metadata, record.host) = (row[10], row[11])
        (record.priority, record.position, record.total) = (priority, position, row[14])
        record.hold = (row[15] as String?).flatMap(HoldReason.init)
        (record.owner, record.partPath, record.finalPath) = (row[16], row[17], row[18])
        record.startedAt = row[19]
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
