internal import Foundation
internal import GRDB

/// Rows of `download` that cannot be read, because a later version wrote them or somebody edited the store. Each row is
/// reported once and then ignored: its status becomes ``status``, and its key is free. Its URL can be downloaded again.
struct OddRows {
    struct Found: Sendable {
        let number: Int64
        let name: String
    }

    private(set) var found: [Found] = []
    private var requests = RequestReader()

    /// Replaces the status of an unreadable row, so that no query for another status finds the row, and the row is not
    /// reported again.
    static let status = "unreadable"
    /// Columns of a row that ``saved(_:_:)`` reads.
    static let columns = "download.rowid AS rowNumber, download.*"

    /// Returns a download with its progress; `nil` for an unreadable row.
    mutating func saved(_ row: Row, _ database: Database) throws -> DownloadStore.Saved? {
        guard let record = record(row) else { return nil }
        let progress = try Row.fetchOne(
            database.cachedStatement(sql: "SELECT * FROM progress WHERE downloadID = ?"),
            arguments: [record.id]
        )
        // Progress that cannot be read counts as none.
        return .init(record: record, progress: progress.flatMap { try? ProgressRecord(row: $0) })
    }

    mutating func record(_ row: Row) -> DownloadRecord? {
        // An unreadable row is reported, like one with implausible values.
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

extension DownloadRecord {
    /// `false` if the record has values that the store never writes and that would break calculations.
    var isPlausible: Bool {
        let sizes = [
            total, request.size, resource?.total, part?.size, part?.allocated, finished?.size, finished?.allocated,
        ]
        guard sizes.allSatisfy({ $0 ?? 0 >= 0 }) else { return false }
        let dates = [createdAt, startedAt, finishedAt, linkExpiresAt]
        guard dates.allSatisfy({ $0.map { abs($0.timeIntervalSince1970) < Self.latest } ?? true }) else { return false }
        return (-Self.largest...Self.largest).contains(position) && !id.isEmpty && DownloadID(id) != nil
    }

    /// 2^62, because positions are added to one another.
    private static let largest: Int64 = 1 << 62
    /// End of the year 9999, in seconds since 1970.
    private static let latest: TimeInterval = 253_402_300_800
}
