internal import Foundation
internal import GRDB

/// Rows of `download` that cannot be read: a later version wrote them, or somebody edited the store. Each is named once and then
/// out of everybody's way: its status becomes ``status``, and its key is free. Its URL can be downloaded again.
struct OddRows {
    struct Found: Sendable {
        let number: Int64
        let name: String
    }

    private(set) var found: [Found] = []
    private var requests = RequestReader()

    /// Takes the place of the status: no query finds such a row any more.
    static let status = "unreadable"
    /// The columns of a row that ``saved(_:_:)`` reads.
    static let columns = "download.rowid AS rowNumber, download.*"

    /// A download with its progress; nil for a row that cannot be read.
    mutating func saved(_ row: Row, _ database: Database) throws -> DownloadStore.Saved? {
        guard let record = record(row) else { return nil }
        let progress = try Row.fetchOne(
            database.cachedStatement(sql: "SELECT * FROM progress WHERE downloadID = ?"),
            arguments: [record.id]
        )
        // A claim that cannot be read does not count.
        return .init(record: record, progress: progress.flatMap { try? ProgressRecord(row: $0) })
    }

    mutating func record(_ row: Row) -> DownloadRecord? {
        if let record = try? DownloadRecord(row, &requests), record.isPlausible { return record }
        report(row)
        return nil
    }

    private mutating func report(_ row: Row) {
        let status: DatabaseValue = row["status"] ?? .null
        guard String.fromDatabaseValue(status) != Self.status else { return }
        let (id, url): (DatabaseValue, DatabaseValue) = (row["id"] ?? .null, row["url"] ?? .null)
        let name = [
            String.fromDatabaseValue(id).map { "id \($0.prefix(64))" },
            String.fromDatabaseValue(url).flatMap { URL(string: $0) }.map { String($0.masked.prefix(500)) },
        ]
        let number: DatabaseValue = row["rowNumber"] ?? .null
        guard let number = Int64.fromDatabaseValue(number) else { return }
        found.append(Found(number: number, name: name.compactMap { $0 }.joined(separator: ", ")))
    }
}

extension DownloadStore {
    /// Reads rows of `download`, each for itself: one that cannot be read hides no other. It is reported and left aside.
    func readingRows<Value: Sendable>(_ read: @Sendable (Database, inout OddRows) throws -> Value) throws -> Value {
        let (value, odd) = try file.look { database in
            var odd = OddRows()
            return (try read(database, &odd), odd)
        }
        guard !odd.found.isEmpty else { return value }
        try file.queue.write { database in
            for row in odd.found {
                // The key is for the download that takes its place.
                try database.execute(
                    sql: "UPDATE download SET status = ?, key = NULL, hold = NULL WHERE rowid = ?",
                    arguments: [OddRows.status, row.number]
                )
            }
        }
        for row in odd.found { onOddRow(row.name.isEmpty ? "number \(row.number)" : row.name) }
        return value
    }
}

extension DownloadRecord {
    /// False for values that the store's own code never wrote and that calculations cannot bear.
    var isPlausible: Bool {
        let sizes = [
            total, request.size, resource?.total, part?.size, part?.allocated, finished?.size, finished?.allocated,
        ]
        guard sizes.allSatisfy({ $0 ?? 0 >= 0 }) else { return false }
        let dates = [createdAt, startedAt, finishedAt, linkExpiresAt]
        guard dates.allSatisfy({ $0.map { abs($0.timeIntervalSince1970) < Self.latest } ?? true }) else { return false }
        return (-Self.largest...Self.largest).contains(position) && !id.isEmpty && DownloadID(id) != nil
    }

    /// 2^62: positions are added to one another.
    private static let largest: Int64 = 1 << 62
    /// The year 9999, in seconds since 1970.
    private static let latest: TimeInterval = 253_402_300_800
}
