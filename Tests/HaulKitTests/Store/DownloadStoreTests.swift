import Foundation
import GRDB
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

struct DownloadStoreTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func store(_ name: String = "test", exclusive: Bool = false, boot: String = "boot 1") throws
        -> DownloadStore
    {
        try DownloadStore(folder: folder("state"), name: name, isExclusive: exclusive, bootID: boot)
    }

    private func request(_ url: String = "https://h/a.iso", to destination: DownloadRequest.Destination? = nil)
        -> DownloadRequest
    {
        DownloadRequest(link(url), to: destination ?? .folder(path: "/d"))
    }

    private func record(_ request: DownloadRequest? = nil, createdAt: Double = 0) -> DownloadRecord {
        DownloadRecord(DownloadID(), request ?? self.request(), createdAt: Date(timeIntervalSince1970: createdAt))
    }

    /// Leaves a closed store, as an earlier process would.
    private func leaveAStore() async throws {
        try await store().commit(record(), nil)
        // The last reference is released on the store's own thread.
        while FileManager.default.fileExists(atPath: folder("state/test.sqlite-wal")) { await Task.yield() }
    }

    // MARK: Users of one store

    @Test func writesNothingOverWhatAnotherUserRuns() async throws {
        let (mine, others) = (try store(), try store())
        var record = record()
        record.ownerNumber = others.owner.number
        record.partPath = "/d/a.iso.haulpart"
        try await others.commit(record, .init(written: 9, synced: 4))
        // The record in the state before the other user claimed it.
        var stale = record
        (stale.ownerNumber, stale.partPath) = (nil, nil)
        try await mine.commit(stale, .zero)
        let saved = try #require(try await mine.find(id: record.id))
        #expect(saved.record == record)
        #expect(saved.progress?.received == 9)
        others.giveUpName()
        stale.status = .paused
        try await mine.commit(stale, nil)
        // The partial file of the ended process is still recorded.
        record.ownerNumber = nil
        record.status = .paused
        #expect(try await mine.find(id: record.id)?.record == record)
    }

    @Test func keepsThePartialFileAndTheVersionThatAnotherUserLeft() async throws {
        let (mine, others) = (try store(), try store())
        let stale = record()
        try await mine.commit(stale, nil)
        // The other user runs the download, which fails.
        var record = stale
        record.ownerNumber = others.owner.number
        (record.partPath, record.finalPath) = ("/d/a.iso.haulpart", "/d/a.iso")
        record.part = FileStatus(kind: .file, size: 0, allocated: 0, device: 1, inode: 4, modified: 5)
        record.resource = Resource(total: 9, validator: Validator(entityTag: EntityTag("\"v2\"")))
        record.total = 9
        try await others.commit(record, .init(written: 5, synced: 4))
        (record.ownerNumber, record.status) = (nil, .failed)
        try await others.commit(record, nil)

        var mineAgain = stale
        mineAgain.request.priority = 3
        try await mine.commit(mineAgain, nil)
        record.status = .queued
        record.request.priority = 3
        #expect(try await mine.find(id: record.id)?.record == record)

        // Replacing the URL changes only the source that the resource comes from, without a run.
        record.resource?.mirror = link("https://h/old.iso")
        try await mine.commit(record, nil)
        #expect(try await mine.find(id: record.id)?.record == record)
    }

    @Test func keepsTheCompletionThatAnotherUserRecorded() async throws {
        let (mine, others) = (try store(), try store())
        let stale = record()
        try await mine.commit(stale, nil)
        var record = stale
        record.ownerNumber = others.owner.number
        try await others.commit(record, nil)
        let file = FileStatus(kind: .file, size: 9, allocated: 9, device: 1, inode: 4, modified: 5)
        record.complete(with: file, at: Date(timeIntervalSince1970: 7))
        record.ownerNumber = nil
        try await others.commit(record, nil)
        try await mine.commit(stale, nil)
        #expect(try await mine.find(id: record.id)?.record.status == .completed)
    }

    // MARK: Round trips

    @Test func givesBackWhatItWasGiven() async throws {
        var request = request(to: .file(path: "/d/Überblick 🦊.iso"))
        request.headers = [try #require(HeaderField("Cookie: a=\"b\"'; DROP TABLE download"))]
        request.checksum = DownloadRequest.Checksum(.sha256, digest: Array(repeating: 3, count: 32))
        request.onConflict = .overwrite
        (request.failsOnChange, request.resumesUnverified) = (true, true)
        (request.setsModificationTime, request.allowsInsecureRedirects) = (true, true)
        var record = record(request)
        record.status = .failed
        record.resource = Resource(
            total: .max,
            validator: Validator(entityTag: EntityTag("W/\"é\""), lastModified: "x")
        )
        record.error = DownloadError(.refusedByServer, "It said no.", cause: "why", status: 404)
        record.part = FileStatus(kind: .file, size: 1, allocated: 2, device: .max >> 1, inode: 4, modified: -5)
        (record.partPath, record.finalPath, record.ownerNumber) = ("/d/x.haulpart", "/d/x", 42)
        record.startedAt = Date(timeIntervalSince1970: 1.5)
        try await store().commit(record, .init(written: 9, synced: 4), durably: true)

        let saved = try #require(try await store().all().first)
        #expect(saved.record == record)
        #expect(saved.record.request == request)
        #expect(saved.progress?.persisted(bootID: "boot 1") == .init(written: 9, synced: 4))
    }

    @Test func listsInTheOrderOfAdding() async throws {
        let store = try store()
        let records = [30, 10, 20].map { record(createdAt: $0) }
        for record in records { try await store.commit(record, nil) }
        #expect(try await store.all().map(\.record.id) == records.map(\.id))
    }

    @Test func findsTheNewestDownloadOfTheSameTarget() async throws {
        let store = try store()
        let old = record(createdAt: 1)
        let new = record(createdAt: 2)
        let named = record(request("https://h/b", to: .file(path: "/d/n")), createdAt: 3)
        for record in [new, old, named] { try await store.commit(record, nil) }
        #expect(try await store.find(request())?.record.id == new.id)
        #expect(try await store.find(request(to: .folder(path: "/elsewhere"))) == nil)
        #expect(try await store.find(request("https://h/other"))?.record == nil)
        // A named file is the same download, whatever its URL.
        #expect(try await store.find(request("https://mirror/c", to: .file(path: "/d/n")))?.record.id == named.id)
    }

    @Test func findsWhoOwnsAPartialFile() async throws {
        let store = try store()
        var record = record()
        record.partPath = "/d/a.haulpart"
        try await store.commit(record, nil)
        #expect(try await store.find(partPath: "/d/a.haulpart", besides: "") == record)
        #expect(try await store.find(partPath: "/d/b.haulpart", besides: "") == nil)
    }

    /// A process that ends between the removal of a partial file and that of its record leaves a record for a file that
    /// is gone.
    @Test func findsTheRecordOfTheFileThatIsThere() async throws {
        let store = try store()
        var (gone, present) = (record(createdAt: 1), record(createdAt: 2))
        for (inode, record) in zip([4, 5] as [UInt64], [gone, present]) {
            var record = record
            record.partPath = "/d/a.haulpart"
            record.part = FileStatus(kind: .file, size: 1, allocated: 1, device: 1, inode: inode, modified: 5)
            try await store.commit(record, nil)
            if inode == 4 { gone = record } else { present = record }
        }
        for record in [gone, present] {
            #expect(try await store.find(partPath: "/d/a.haulpart", besides: "", of: record.part)?.id == record.id)
        }
    }

    @Test func forgetsWhatIsRemoved() async throws {
        let store = try store()
        let record = record()
        try await store.commit(record, .init(written: 5, synced: 5))
        store.note(.init(written: 6, synced: 5), of: record.id)
        try await store.remove(record.id)
        // A note that follows must not restore the removed record.
        store.note(.init(written: 7, synced: 5), of: record.id)
        await store.flush()
        #expect(try await store.all().isEmpty)
    }

    // MARK: Notes and commits

    @Test func writesManyNotesInOneTransaction() async throws {
        let commits = Atomic<Int>(0)
        let gate = DispatchSemaphore(value: 0)
        let (entered, entrance) = AsyncStream.makeStream(of: Void.self)
        let store = try DownloadStore(folder: folder("state"), name: "n", isExclusive: false, bootID: "b") { _ in
            guard commits.add(1, ordering: .relaxed).newValue == 1 else { return }
            entrance.yield()
            gate.wait()
        }
        let record = record()
        store.note(record)
        for await _ in entered { break }
        // The first transaction is in progress, so the other notes are gathered.
        for written in 1...500 as ClosedRange<Int64> { store.note(.init(written: written, synced: 0), of: record.id) }
        gate.signal()
        await store.flush()
        #expect(commits.load(ordering: .relaxed) == 2)
        #expect(try await store.all().first?.progress?.written == "0-500")
    }

    @Test func letsACommitTakeBackWhatWasNotedBefore() async throws {
        let store = try store()
        let record = record()
        for _ in 0..<50 {
            store.note(record)
            store.note(.init(written: 500, synced: 500), of: record.id)
            try await store.commit(record, .zero, durably: true)
            await store.flush()
            let saved = try #require(try await store.all().first)
            #expect(saved.progress?.persisted(bootID: "boot 1") == .zero)
        }
    }

    @Test func keepsTheMarkWhenOnlyTheRecordIsCommitted() async throws {
        let store = try store()
        var record = record()
        try await store.commit(record, .init(written: 5, synced: 5))
        store.note(.init(written: 8, synced: 5), of: record.id)
        record.status = .paused
        try await store.commit(record, nil)
        await store.flush()
        let saved = try #require(try await store.all().first)
        #expect(saved.record.status == .paused && saved.progress?.written == "0-8")
    }

    @Test func writesTheRangesLastThatAnActorNotesAfterItsCommit() async throws {
        let store = try store()
        let record = record()
        let actor = Committer(store, record)
        for round in 1...500 as ClosedRange<Int64> {
            async let commit: Void = actor.commit(2 * round)
            while await !actor.noteAfterCommit(2 * round + 1) { await Task.yield() }
            try await commit
            await store.flush()
            #expect(try await store.find(id: record.id)?.progress?.received == 2 * round + 1)
        }
    }

    @Test func trustsOnlyWhatWasSyncedAfterAnotherBoot() async throws {
        let record = record()
        try await store(boot: "boot 1").commit(record, .init(written: 900, synced: 300))
        let progress = try #require(try await store(boot: "boot 2").all().first?.progress)
        #expect(progress.persisted(bootID: "boot 1") == .init(written: 900, synced: 300))
        #expect(progress.persisted(bootID: "boot 2") == .init(written: 300, synced: 300))
        #expect(progress.persisted(bootID: "") == .init(written: 300, synced: 300))
    }

    @Test func neverTakesTwoUnknownBootsForTheSame() {
        let progress = ProgressRecord("id", .init(written: 900, synced: 300), bootID: "")
        #expect(progress.persisted(bootID: "") == .init(written: 300, synced: 300))
    }

    // MARK: Opening

    @Test func keepsItsFilesToTheUser() throws {
        let store = try store()
        #expect(try folder.permissions(of: "state") == 0o700)
        for name in ["test.sqlite", "test.lock", "test.setup"] {
            #expect(try folder.permissions(of: "state/" + name) == 0o600, "\(name)")
        }
        withExtendedLifetime(store) {}
    }

    @Test(arguments: ["", "a/b", "/", "../x", ".", "..", ".hidden"])
    func refusesNamesThatLeaveTheFolder(_ name: String) {
        let error = #expect(throws: DownloadError.self) { try store(name) }
        #expect(error?.code == .storeFailed)
    }

    @Test func sharesUnlessSomebodyOwnsTheName() throws {
        do {
            let (one, other) = (try store(), try store())
            let error = #expect(throws: DownloadError.self) { try store(exclusive: true) }
            #expect(error?.code == .inUse)
            withExtendedLifetime((one, other)) {}
        }
        do {
            let owner = try store(exclusive: true)
            for exclusive in [false, true] {
                let error = #expect(throws: DownloadError.self) { try store(exclusive: exclusive) }
                #expect(error?.code == .inUse)
            }
            // Another name is another store.
            let neighbour = try store("other", exclusive: true)
            withExtendedLifetime((owner, neighbour)) {}
        }
        _ = try store(exclusive: true)
    }

    @Test func setsADamagedFileAsideAndKeepsIt() async throws {
        try await leaveAStore()
        let path = folder("state/test.sqlite")
        let damaged = Data(repeating: 0x5A, count: 10_000)
        try damaged.write(to: URL(fileURLWithPath: path))
        let store = try store()
        let aside = try #require(store.setAside)
        #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == damaged)
        #expect(try await store.all().isEmpty)
        try await store.commit(record(), nil)
        #expect(try await store.all().count == 1)
    }

    @Test func refusesAStoreOfANewerVersionAndLeavesItAlone() async throws {
        try await leaveAStore()
        let path = folder("state/test.sqlite")
        // Simulates a store of a later version: it has a version that this one does not know.
        let unknown = "99.0.0"
        let queue = try DatabaseQueue(path: path)
        try await queue.write { database in
            try database.execute(sql: "INSERT INTO grdb_migrations VALUES (?)", arguments: [unknown])
        }
        try queue.close()
        let error = #expect(throws: DownloadError.self) { try store() }
        #expect(error?.code == .storeFailed && error?.message.contains("newer version") == true)
        let left = try await DatabaseQueue(path: path).read {
            try String.fetchAll($0, sql: "SELECT identifier FROM grdb_migrations")
        }
        #expect(left.contains(unknown))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder("state"))
        #expect(!names.contains { $0.contains("damaged") })
    }

    @Test func saysSoWhenTheFolderCannotBeMade() throws {
        try Data().write(to: URL(fileURLWithPath: folder("state")))
        let error = #expect(throws: DownloadError.self) { try store() }
        #expect(error?.code == .diskFailed && error?.message.contains(folder("state")) == true)
    }

    @Test(.disabled(if: getuid() == 0, "whose permissions are not asked for"))
    func saysSoWhenTheFolderMayNotBeUsed() throws {
        try folder.makeFolder("state")
        #expect(chmod(folder("state"), 0o500) == 0)
        defer { chmod(folder("state"), 0o700) }
        let error = #expect(throws: DownloadError.self) { try store() }
        #expect(error?.code == .permissionDenied && error?.message.contains(folder("state")) == true)
    }
}

/// Actor that commits a record and notes newer ranges before the commit has returned.
private actor Committer {
    private let store: DownloadStore
    private let record: DownloadRecord
    private var isCommitting = false

    init(_ store: DownloadStore, _ record: DownloadRecord) { (self.store, self.record) = (store, record) }

    func commit(_ written: Int64) async throws {
        isCommitting = true
        try await store.commit(record, .init(written: written, synced: 0))
    }

    /// - Returns: `false` if the commit has not begun.
    func noteAfterCommit(_ written: Int64) -> Bool {
        guard isCommitting else { return false }
        store.note(.init(written: written, synced: 0), of: record.id)
        isCommitting = false
        return true
    }
}
