internal import Foundation
internal import GRDB

/// Reads many rows of waiting downloads by column number, because GRDB looks up each column name in each row. Decodes
/// only once a value that consecutive rows share. Reads the row of a begun download by column names, because it uses
/// more columns.
///
/// Create a new reader for each query.
struct RowReader {
    /// Query with the columns in the order in which ``saved(_:_:_:)`` reads them. Progress follows the download's own
    /// columns and is NULL if there is none.
    static let sql = """
        SELECT download.id, url, folder, file, status, request, createdAt, key, groupName, owner, metadata, host,
            priority, position, total, hold, ownerNumber, partPath, finalPath, startedAt,
            coalesce(resource, part, finished, error, finishedAt, proof, linkExpiresAt, link) IS NULL AND isRepair = 0,
            progress.written, progress.synced, progress.bootID, progress.received, download.rowid
        FROM download LEFT JOIN progress ON progress.downloadID = download.id
        """

    private var requests = RequestReader()
    private var created: (text: String, value: Date)?

    /// - Returns: `nil` for an unreadable row, which `odd` then holds.
    mutating func saved(_ row: Row, _ database: Database, _ odd: inout OddRows) throws -> DownloadStore.Saved? {
        if let saved = waiting(row) { return saved }
        // A download that has begun uses more columns, and is rare among waiting ones.
        let number: Int64 = try row.required(25)
        return try Row.fetchOne(
            database,
            sql: "SELECT \(OddRows.columns) FROM download WHERE rowid = ?",
            arguments: [number]
        ).flatMap { try odd.saved($0, database) }
    }

    /// - Returns: `nil` for a download that has begun, and for a row with an odd value.
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
            // The caller reads the row again by column names, and then reports it.
            return nil
        }
    }

    private mutating func record(_ row: Row) throws -> DownloadRecord? {
        let status: String = try row.required(4)
        let date: DatabaseValue = row[6]
        guard let status = DownloadRecord.Status(rawValue: status), let createdAt = readDate(date) else { return nil }
        var request = try requests.request(
            try row.required(5),
            url: try row.required(1),
            file: try row.value(3),
            folder: try row.value(2)
        )
        (request.key, request.group, request.owner) = (try row.value(7), try row.value(8), try row.value(9))
        request.metadata = try row.value(10).map(DownloadRequest.Metadata.init(json:))
        request.priority = try row.required(12)
        var record = DownloadRecord(id: try row.required(0), request, status: status, createdAt: createdAt)
        (record.host, record.position) = (try row.value(11), try row.required(13))
        record.total = try row.value(14)
        record.hold = try row.value(15, as: String.self).flatMap(HoldReason.init)
        record.ownerNumber = try row.value(16)
        (record.partPath, record.finalPath) = (try row.value(17), try row.value(18))
        record.startedAt = try row.value(19)
        return record
    }

    /// Reuses the last date, because downloads that were added together have the same one.
    private mutating func readDate(_ value: DatabaseValue) -> Date? {
        guard let text = String.fromDatabaseValue(value) else { return Date.fromDatabaseValue(value) }
        if let created, created.text == text { return created.value }
        guard let date = Date.fromDatabaseValue(value) else { return nil }
        created = (text, date)
        return date
    }
}

extension ProgressRecord {
    init(_ id: String, written: String, synced: String, bootID: String, received: Int64) {
        downloadID = id
        self.written = written
        self.synced = synced
        self.bootID = bootID
        self.received = received
    }
}
