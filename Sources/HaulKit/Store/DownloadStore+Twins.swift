internal import Foundation
internal import GRDB
internal import Synchronization

/// Finds downloads of the same request that several processes have in one store, each with its own record.
extension DownloadStore {
    /// Result of claiming a download that another process may have too.
    enum Standing: Sendable {
        /// This process may run the download.
        case ours
        /// Another record of the same request says that its file is complete, or is about to get its name.
        case complete(DownloadRecord)
        /// Another process runs the download of this record of the same request.
        case running(DownloadRecord)
    }

    /// Whether another process uses the store, or has used it since this one opened it.
    var hasMetOthers: Bool { file.isShared && owner.hasMetOthers }

    /// Claims a download that is about to start, unless another process runs or has completed a download of the same
    /// request. Check and claim are one transaction, so that only one of two processes that start at once gets the
    /// download.
    ///
    /// - Parameter ignored: ids of records whose files turned out to be useless.
    func begin(_ record: DownloadRecord, ignoring ignored: Set<String>, at date: Date) async throws(DownloadError)
        -> Standing
    {
        try await onWriter { store in
            store.writeGathered()
            return try store.file.queue.write { database in
                for twin in try Self.twins(of: record, database) where !ignored.contains(twin.id) {
                    if store.isComplete(twin) { return .complete(twin) }
                    if twin.startedAt != nil, store.isAnothers(twin) { return .running(twin) }
                }
                store.rows.withLock { $0.forget(record.id) }
                // Leaves the row as it is if another process has taken up this record meanwhile. The caller's later
                // ``claim(_:)`` fails.
                let row = try Row.fetchOne(
                    database.cachedStatement(sql: "SELECT ownerNumber FROM download WHERE id = ?"),
                    arguments: [record.id]
                )
                if let other: Int64 = try row?.value("ownerNumber"), other != store.owner.number,
                    store.owner.isAlive(other)
                {
                    return .ours
                }
                try database.execute(
                    sql: "UPDATE download SET startedAt = ?, ownerNumber = ? WHERE id = ? AND status = 'queued'",
                    arguments: [StoreDate.text(date), store.owner.number, record.id]
                )
                return .ours
            }
        }
    }

    /// Returns for each record the other records of the same request whose files are complete or being published.
    func completeTwins(of records: [DownloadRecord]) async throws(DownloadError) -> [[DownloadRecord]] {
        try await onWriter { store in
            store.writeGathered()
            return try store.file.look { database in
                try records.map { try Self.twins(of: $0, database).filter(store.isComplete) }
            }
        }
    }

    private func isComplete(_ record: DownloadRecord) -> Bool {
        record.status == .completed || record.status == .publishing
    }

    /// Whether another live user of the store owns a record.
    func isAnothers(_ record: DownloadRecord) -> Bool {
        guard let other = record.ownerNumber, other != owner.number else { return false }
        return owner.isAlive(other)
    }

    /// Returns the other records of the same request, newest first.
    private static func twins(of record: DownloadRecord, _ database: Database) throws -> [DownloadRecord] {
        guard record.mayHaveTwin else { return [] }
        let (column, place) = record.file.map { ("file", $0) } ?? ("folder", record.folder ?? "")
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT \(OddRows.columns) FROM download WHERE url = ? AND \(column) = ? AND id != ? AND key IS NULL
                        AND status IN ('queued', 'publishing', 'completed') ORDER BY createdAt DESC, rowid DESC
                    """
            ),
            arguments: [record.request.url.absoluteString, place, record.id]
        )
        // The next reader reports an unreadable row.
        var odd = OddRows()
        return rows.compactMap { odd.record($0) }.filter {
            $0.mayHaveTwin && $0.request.asksTheSame(as: record.request)
        }
    }
}

extension DownloadRecord {
    /// Whether another process's record of the same URL and destination is the same download. `false` for downloads
    /// that are always separate: a repair, a film that replaces one with gaps, and a request with a key, an adopted
    /// file or `addAnyway`.
    var mayHaveTwin: Bool {
        request.key == nil && request.adopts == nil && request.onDuplicate != .addAnyway && !isRepair
            && request.replaces == nil
    }
}
