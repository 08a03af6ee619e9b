internal import Foundation
internal import GRDB
internal import Synchronization

/// Downloads of one request that several processes have in one store: each has a record of its own.
extension DownloadStore {
    /// The result of asking for a download that another process may have too.
    enum Standing: Sendable {
        /// It is this process's to run.
        case ours
        /// Another record of the same request says that its file is complete, or is about to get its name.
        case complete(DownloadRecord)
        /// Another process runs it.
        case running(DownloadRecord)
    }

    /// Whether another process uses the store, or has used it since this one opened it.
    var hasMetOthers: Bool { file.isShared && owner.hasMetOthers }

    /// Claims a download that is about to start, unless another process runs or has completed one of the same request. The look and the
    /// claim are one transaction: of two processes that start the same download at once, one gets it.
    ///
    /// - Parameter ignored: records whose files turned out to be of no use.
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
                // A record that another process has taken up meanwhile stays as that one left it.
                let row = try Row.fetchOne(
                    database.cachedStatement(sql: "SELECT ownerNumber FROM download WHERE id = ?"),
                    arguments: [record.id]
                )
                if let other: Int64 = row?["ownerNumber"], other != store.owner.number, store.owner.isAlive(other) {
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

    /// The records of the same requests whose files are complete or about to get their names, for each of these.
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

    /// Whether another user of the store, who is there, owns a record.
    func isAnothers(_ record: DownloadRecord) -> Bool {
        guard let other = record.ownerNumber, other != owner.number else { return false }
        return owner.isAlive(other)
    }

    /// The other records of the same request, the newest first.
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
        // A row that cannot be read is reported by whoever reads it next.
        var odd = OddRows()
        return rows.compactMap { odd.record($0) }.filter {
            $0.mayHaveTwin && $0.request.asksTheSame(as: record.request)
        }
    }
}

extension DownloadRecord {
    /// Whether another process's record of the same URL and destination is the same download: a key, a file of another program or the
    /// wish for a second copy makes it one of its own.
    var mayHaveTwin: Bool {
        request.key == nil && request.adopts == nil && request.onDuplicate != .addAnyway && !isRepair
    }
}
