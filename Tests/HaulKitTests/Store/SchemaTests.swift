import Foundation
import GRDB
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

extension EarlierStores {
    /// Brings a database to the state that an earlier build left.
    ///
    /// - Parameter state: number of the build's last step.
    static func bring(_ queue: DatabaseQueue, to state: Int) throws {
        var migrator = DatabaseMigrator()
        for step in steps.prefix(state) { migrator.registerMigration(step.name, migrate: step.run) }
        try migrator.migrate(queue)
    }
}

/// Tests new stores, and stores that an earlier build wrote.
struct SchemaTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Leaves a store of the first version, with one download whose bytes are a single range.
    private func leaveAFirstStore(written: Int64, synced: Int64, bootID: String) throws {
        try folder.makeFolder("state")
        let queue = try DatabaseQueue(path: folder("state/test.sqlite"))
        try EarlierStores.bring(queue, to: 1)
        try queue.write { database in
            try database.execute(
                sql: """
                    INSERT INTO download (id, url, file, status, wishes, partPath, finalPath, resource, createdAt)
                    VALUES (?, 'https://h/a.iso', '/d/a.iso', 'paused', ?, '/d/a.iso.haulpart', '/d/a.iso', ?, ?)
                    """,
                arguments: [
                    DownloadID().description,
                    #"{"headers":[],"failsOnChange":true,"resumesUnverified":false,"setsModificationTime":false,"#
                        + #""allowsInsecureRedirects":false}"#,
                    #"{"total":900,"validator":{"lastModifiedIsStrong":false},"hasUsableRanges":true,"isFramed":true}"#,
                    Date(timeIntervalSince1970: 1),
                ]
            )
            try database.execute(
                sql: "INSERT INTO segment SELECT id, 0, ?, ?, ? FROM download",
                arguments: [written, synced, bootID]
            )
        }
        try queue.close()
    }

    /// Returns the versions of a database, and the SQL of its tables and indexes without white space and quotation
    /// marks.
    private func tables(_ queue: DatabaseQueue) throws -> [String] {
        try queue.read { database in
            let names = try String.fetchAll(database, sql: "SELECT identifier FROM grdb_migrations ORDER BY identifier")
            let tables = try Row.fetchAll(
                database,
                sql: "SELECT type || ' ' || name || ' of ' || tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY 1"
            )
            return names
                + tables.map { row in
                    let (name, sql): (String, String) = (row[0], row[1])
                    return name + ": " + sql.filter { !$0.isWhitespace && $0 != "\"" }
                }
        }
    }

    @Test func aNewStoreNeedsNoMigration() throws {
        let new = try DatabaseQueue()
        var wasMigrated = false
        for _ in 1...2 {
            try Schema.prepare(new) { _ in wasMigrated = true }
            #expect(!wasMigrated)
            #expect(try new.read(Schema.migrator.hasCompletedMigrations))
            #expect(try !new.read(Schema.isOfLaterVersion))
        }
        let tables = try tables(new)
        #expect(tables.first == "0.1.0" && tables.count > 20)
    }

    @Test(arguments: 1...9)
    func aNewStoreHasTheTablesOfAnUpdatedOne(_ state: Int) throws {
        let (updated, new) = (try DatabaseQueue(), try DatabaseQueue())
        try EarlierStores.bring(updated, to: state)
        #expect(try !updated.read(Schema.isOfLaterVersion))
        var migrations = 0
        for _ in 1...2 {
            try Schema.prepare(updated) { migrator in
                migrations += 1
                try migrator.migrate(updated)
            }
        }
        #expect(migrations == 1)
        try Schema.prepare(new) { _ in }
        #expect(try tables(new) == tables(updated))
    }

    /// A store of an earlier build may have lost one of its names, for example by damage.
    @Test func leavesAStoreAsItIsWhenAStepFails() throws {
        let queue = try DatabaseQueue()
        try EarlierStores.bring(queue, to: 6)
        try queue.write {
            try $0.execute(
                sql: "DELETE FROM grdb_migrations WHERE identifier = ?",
                arguments: [EarlierStores.steps[2].name]
            )
        }
        let before = try tables(queue)
        #expect(throws: DatabaseError.self) { try Schema.prepare(queue) { try $0.migrate(queue) } }
        #expect(try tables(queue) == before)
    }

    private func store() throws -> DownloadStore {
        try DownloadStore(folder: folder("state"), name: "test", isExclusive: false, bootID: "boot 1")
    }

    @Test(arguments: [(500, 300), (500, 0), (900, 900)] as [(Int64, Int64)])
    func keepsWhatTheFirstVersionKnew(_ written: Int64, _ synced: Int64) async throws {
        try leaveAFirstStore(written: written, synced: synced, bootID: "boot 1")
        let store = try store()
        #expect(store.setAside == nil)
        let saved = try #require(try await store.all().first)
        #expect(saved.record.status == .paused && saved.record.resource?.total == 900)
        #expect(saved.record.request.failsOnChange == true)
        #expect(saved.record.request.mirrors == [] && saved.record.request.pieces == nil)
        #expect(saved.progress?.persisted(bootID: "boot 1") == PersistedRanges(written: written, synced: synced))
        #expect(saved.progress?.persisted(bootID: "boot 2") == PersistedRanges(written: synced, synced: synced))
    }

    @Test func keepsEveryRecordOfTheFourthVersionButNoNumberOfAProcess() async throws {
        try folder.makeFolder("state")
        let queue = try DatabaseQueue(path: folder("state/test.sqlite"))
        try EarlierStores.bring(queue, to: 4)
        var records = (1...3).map { number in
            DownloadRecord(
                DownloadID(),
                DownloadRequest(link("https://h/\(number)"), to: .folder(path: "/d")),
                createdAt: Date(timeIntervalSince1970: Double(number))
            )
        }
        (records[0].ownerNumber, records[0].partPath, records[0].finalPath) = (1, "/d/1.haulpart", "/d/1")
        records[0].part = FileStatus(kind: .file, size: 1, allocated: 2, device: 3, inode: 4, born: 5, modified: 6)
        records[1].ownerNumber = Int64(ProcessInfo.processInfo.processIdentifier)
        let written = records
        let wishes =
            #"{"headers":[],"failsOnChange":false,"resumesUnverified":false,"setsModificationTime":false,"#
            + #""allowsInsecureRedirects":false}"#
        try await queue.write { database in
            for record in written {
                try database.execute(
                    sql: """
                        INSERT INTO download (id, url, folder, status, wishes, createdAt, host, owner, partPath, finalPath, part)
                        VALUES (?, ?, ?, 'queued', ?, ?, 'h', ?, ?, ?, ?)
                        """,
                    arguments: [
                        record.id, record.request.url.absoluteString, record.folder, wishes, record.createdAt,
                        record.ownerNumber, record.partPath, record.finalPath, record.part.map { ColumnTexts().of($0) },
                    ]
                )
            }
            try ProgressRecord(written[0].id, PersistedRanges(written: 9, synced: 4), bootID: "boot 1").insert(database)
        }
        try queue.close()
        let store = try store()
        for record in written {
            var expected = record
            expected.ownerNumber = nil
            #expect(try await store.find(id: record.id)?.record == expected)
        }
        #expect(
            try await store.find(id: written[0].id)?.progress?.persisted(bootID: "boot 1")
                == PersistedRanges(written: 9, synced: 4)
        )
    }

    @Test func makesNothingOfASegmentWithoutBytes() async throws {
        try leaveAFirstStore(written: 0, synced: 0, bootID: "boot 1")
        let saved = try #require(try await store().all().first)
        #expect(saved.progress?.persisted(bootID: "boot 1") == .zero)
    }

    @Test func keepsHolesMirrorsAndPieces() async throws {
        var request = DownloadRequest(link("https://h/b.iso"), to: .file(path: "/d/b.iso"))
        request.mirrors = [.init(link("https://m/b.iso"), priority: 3, location: "de")]
        request.pieces = PieceHashes(.sha1, pieceLength: 5, digests: [Array(0..<20), Array(20..<40)])
        (request.size, request.bytesPerSecond) = (9, 1000)
        let record = DownloadRecord(DownloadID(), request, createdAt: Date(timeIntervalSince1970: 2))
        let persisted = PersistedRanges(written: ByteSet([0..<2, 4..<9]), synced: ByteSet([4..<5]))
        try await store().commit(record, persisted, durably: true)
        let saved = try #require(try await store().find(request))
        #expect(saved.record.request == request)
        #expect(saved.progress?.persisted(bootID: "boot 1") == persisted)
    }

    @Test(
        arguments: [
            ("file = 'f'", "download_on_file"), ("partPath = 'p'", "download_on_partPath"),
            ("key = 'k'", "download_on_key"), ("groupName = 'g'", "download_on_group"),
            ("url = 'u'", "download_on_url"),
            ("key IN (SELECT value FROM json_each('[\"k\"]'))", "download_on_key"),
            ("status = 'queued' ORDER BY rowid LIMIT 50", "download_on_status"),
            ("status = 'queued' ORDER BY priority DESC, position", "download_on_status"),
            ("1 ORDER BY priority DESC, position, rowid LIMIT 50", "download_in_order"),
        ]
    )
    func findsByIndex(_ condition: String, _ index: String) async throws {
        let plan = try await store().reading { database in
            try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN SELECT * FROM download WHERE \(condition)")
                .map { $0["detail"] as String }
        }
        #expect(plan.contains { "\($0) ".contains("USING INDEX \(index) ") }, "\(plan)")
    }
}
