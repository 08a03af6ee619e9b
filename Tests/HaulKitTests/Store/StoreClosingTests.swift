import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// What a closed store leaves beside its database.
@Suite(.timeLimit(.minutes(60)))
struct StoreClosingTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func store() throws -> DownloadStore {
        try DownloadStore(folder: folder("state"), name: "n", isExclusive: false, bootID: "b")
    }

    private func record(metadata: String? = nil) throws -> DownloadRecord {
        let url = try #require(URL(string: "https://a.example/file"))
        var request = DownloadRequest(url, to: .folder(path: "/tmp"))
        if let metadata { request.metadata = try .init(metadata) }
        return DownloadRecord(DownloadID(), request, createdAt: Date(timeIntervalSince1970: 0))
    }

    private var hasLog: Bool { FileManager.default.fileExists(atPath: folder("state/n.sqlite-wal")) }

    @Test func aShortLogStaysAndTheNextUserReadsIt() async throws {
        var records: [DownloadRecord] = []
        for number in 0..<4 {
            let first = try store()
            records.append(try record())
            try await first.commit(records[records.count - 1], nil)
            await first.close()
            // The first one leaves the tables in the database.
            #expect(hasLog == (number > 0))
        }
        let next = try store()
        for record in records { #expect(try await next.find(id: record.id)?.record == record) }
        #expect(next.setAside == nil)
        await next.close()
    }

    @Test func aLongLogIsCopiedIntoTheDatabase() async throws {
        await (try store()).close()
        let first = try store()
        let long = try record(metadata: String(repeating: "text ", count: 150_000))
        try await first.commit(long, nil)
        await first.close()
        #expect(!hasLog)
        #expect(try await store().find(id: long.id)?.record == long)
    }

    @Test func aLogThatTheDiskMayNotHaveIsCopiedIntoTheDatabase() async throws {
        await (try store()).close()
        let first = try store()
        try await first.commit(try record(), nil)
        try first.file.close(keepsLog: false)
        #expect(!hasLog)
        await first.close()
    }

    @Test func theEndSyncsOnlyWhatNoSyncHasReached() {
        let syncs = Atomic<Int>(0)
        let sync = CommitSync(
            BlockingExecutor.system.makeQueue("test", .utility),
            path: "n.sqlite",
            syncLog: { () throws(DiskError) in syncs.add(1, ordering: .relaxed) },
            observer: { _ in }
        )
        #expect(sync.end())
        #expect(syncs.load(ordering: .relaxed) == 0)
        sync.committed([])
        #expect(sync.end())
        #expect(sync.end())
        #expect(syncs.load(ordering: .relaxed) == 1)
    }

    @Test func theEndSaysThatTheDiskMayNotHaveACommit() {
        let sync = CommitSync(
            BlockingExecutor.system.makeQueue("test", .utility),
            path: "n.sqlite",
            syncLog: { () throws(DiskError) in
                throw DiskError(.inputOutput, call: "fdatasync", path: "n.sqlite-wal")
            },
            observer: { _ in }
        )
        sync.committed([])
        #expect(!sync.end())
        #expect(!sync.end())
    }
}
