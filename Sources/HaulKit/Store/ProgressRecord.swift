internal import Foundation
internal import GRDB

/// Row of `progress`: the ranges of one download that are on disk.
struct ProgressRecord: Sendable, Equatable, Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "progress"

    var downloadID: String
    /// Ranges that the kernel has, as ``ByteSet/text``. Valid only during the boot `bootID`.
    var written: String
    /// Ranges that the disk has, as ``ByteSet/text``.
    var synced: String
    var bootID: String
    /// Number of written bytes, for sums in SQL.
    var received: Int64

    init(_ id: String, _ persisted: PersistedRanges, bootID: String) {
        downloadID = id
        written = persisted.written.text
        synced = persisted.synced.text
        self.bootID = bootID
        received = persisted.count
    }

    /// Writes the row with a hand-written statement, because no other row is written as often. Writes nothing if the
    /// download was removed meanwhile.
    func write(_ database: Database) throws {
        var statement = try BoundStatement(Self.upsertOfExisting, database)
        for text in [downloadID, written, synced, bootID] { statement.bind(text) }
        statement.bind(received)
        try statement.run()
    }

    private static let upsertOfExisting = """
        INSERT INTO progress (downloadID, written, synced, bootID, received)
        SELECT id, ?2, ?3, ?4, ?5 FROM download WHERE id = ?1
        ON CONFLICT (downloadID) DO UPDATE SET written = excluded.written, synced = excluded.synced,
            bootID = excluded.bootID, received = excluded.received
        """

    /// Whether `written` has as many bytes as were counted when the row was written. A damaged digit would claim bytes
    /// that are not on disk. `received` is 0 in a row of an earlier version, which has no count.
    var isConsistent: Bool { received == 0 || ByteSet(text: written).count == received }

    /// Returns the ranges that are reliable in the boot `now`.
    func persisted(bootID now: String) -> PersistedRanges {
        guard isConsistent else { return .zero }
        let isSameBoot = !now.isEmpty && now == bootID
        let synced = ByteSet(text: synced)
        return PersistedRanges(written: isSameBoot ? ByteSet(text: written).union(synced) : synced, synced: synced)
    }
}
