import Dispatch
import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Durable commits on a disk that is slow or fails.
@Suite(.timeLimit(.minutes(60)))
struct CommitSyncTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Makes a store whose log is synced by `syncLog`.
    private func store(_ syncLog: @escaping @Sendable () throws(DiskError) -> Void) throws -> DownloadStore {
        let file = try StoreFile(folder: folder("state"), name: "n", isExclusive: false)
        return DownloadStore(
            StoreFile(file.queue, syncLog: syncLog),
            path: folder("state/n.sqlite"),
            bootID: "b",
            observer: { _ in }
        )
    }

    private func record() throws -> DownloadRecord {
        let url = try #require(URL(string: "https://a.example/file"))
        return DownloadRecord(DownloadID(), DownloadRequest(url, to: .folder(path: "/tmp")), createdAt: Date())
    }

    private func logSize() throws -> Int {
        try #require(FileManager.default.contents(atPath: folder("state/n.sqlite-wal"))).count
    }

    @Test func writesMarksAndOtherCommitsWhileTheDiskIsWaitedFor() async throws {
        let disk = HeldSync()
        let store = try store { () throws(DiskError) in disk.sync() }
        let record = try record()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await store.commit(record, nil, durably: true)
                disk.hasReturned.store(true, ordering: .relaxed)
            }
            await disk.begins()
            store.note(PersistedRanges(written: 7, synced: 0), of: record.id)
            try await store.commit(try self.record(), nil)
            let saved = try await store.find(id: record.id)
            #expect(saved?.progress?.written == "0-7")
            let isOver = disk.hasReturned.load(ordering: .relaxed)
            #expect(!isOver)
            disk.evict()
            try await group.waitForAll()
        }
        #expect(disk.count == 1)
    }

    @Test func commitsThatComeDuringASyncShareTheNext() async throws {
        let disk = HeldSync()
        let store = try store { () throws(DiskError) in disk.sync() }
        let records = try (0..<20).map { _ in try record() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await store.commit(try self.record(), nil, durably: true) }
            await disk.begins()
            for record in records { group.addTask { try await store.commit(record, nil, durably: true) } }
            while try await store.all().count < 21 { await Task.yield() }
            disk.evict()
            try await group.waitForAll()
        }
        #expect(disk.count == 2)
    }

    @Test func aFailureReachesWhoeverWaitsAndTheNextCommitIsCopiedIntoTheDatabase() async throws {
        let failures = Atomic<Int>(1)
        let store = try store { () throws(DiskError) in
            if failures.subtract(1, ordering: .relaxed).oldValue > 0 {
                throw DiskError(.inputOutput, call: "fdatasync", path: "n.sqlite-wal")
            }
        }
        let record = try record()
        await #expect {
            try await store.commit(record, nil, durably: true)
        } throws: { error in
            let error = error as? DownloadError
            return error?.code == .storeFailed && error?.message.contains("n.sqlite") == true
        }
        // A commit that is not durable does not sync, so its data is only in the log.
        try await store.commit(record, PersistedRanges(written: 1, synced: 0))
        #expect(try logSize() > 0)
        try await store.commit(record, nil, durably: true)
        #expect(try logSize() == 0)
        try await store.commit(record, nil, durably: true)
        #expect(try logSize() > 0)
        #expect(try await store.all().count == 1)
    }

    @Test func aFullDiskIsNamedAsOne() async throws {
        let store = try store { () throws(DiskError) in
            throw DiskError(.full, call: "fdatasync", path: "n.sqlite-wal")
        }
        let record = try record()
        await #expect {
            try await store.commit(record, nil, durably: true)
        } throws: { error in (error as? DownloadError)?.code == .diskFull }
    }

    @Test func syncsTheLogOfAStoreThatIsOpenAndOfOneThatWasClosed() async throws {
        let store = try DownloadStore(folder: folder("state"), name: "n", isExclusive: false, bootID: "b")
        try await store.commit(try record(), nil, durably: true)
        #expect(throws: Never.self) { try store.file.syncLog() }
        await store.close()
        #expect(throws: Never.self) { try store.file.syncLog() }
    }
}

/// A disk whose first sync returns only after `evict`.
private final class HeldSync: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let syncs = Atomic<Int>(0)
    /// Whether the caller of the first sync has gone on.
    let hasReturned = Atomic<Bool>(false)
    private let entered: AsyncStream<Void>
    private let entrance: AsyncStream<Void>.Continuation

    init() { (entered, entrance) = AsyncStream.makeStream(of: Void.self) }

    var count: Int { syncs.load(ordering: .relaxed) }

    func sync() {
        guard syncs.add(1, ordering: .relaxed).newValue == 1 else { return }
        entrance.yield()
        gate.wait()
    }

    /// Returns once the first sync has begun.
    func begins() async { for await _ in entered { return } }

    func evict() { gate.signal() }
}
