import Foundation
import GRDB
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// A store that another program keeps locked permanently.
@Suite(.timeLimit(.minutes(60)))
struct LockedStoreTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Locks the store with another connection, as `BEGIN EXCLUSIVE` in `sqlite3` does.
    private func locker() throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.allowsUnsafeTransactions = true
        let queue = try DatabaseQueue(path: folder("state") + "/n.sqlite", configuration: configuration)
        try queue.inDatabase { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        return queue
    }

    private func store(_ onWait: @escaping @Sendable (String) -> Void = { _ in }) throws -> DownloadStore {
        let limits = LockPatience.Limits(untilTold: .milliseconds(20), longest: .milliseconds(200))
        return try DownloadStore(
            folder: folder("state"),
            name: "n",
            isExclusive: false,
            bootID: "b",
            contention: StoreContention(limits, onWait: onWait)
        )
    }

    private func record() throws -> DownloadRecord {
        let url = try #require(URL(string: "https://a.example/file"))
        return DownloadRecord(DownloadID(), DownloadRequest(url, to: .folder(path: "/tmp")), createdAt: Date())
    }

    @Test func aCommitFailsWithASentenceThatNamesTheStore() async throws {
        let told = Told()
        let store = try store { told.add($0) }
        let locker = try locker()
        let record = try record()
        await #expect {
            try await store.commit(record, nil, durably: true)
        } throws: { error in
            let error = error as? DownloadError
            return error?.code == .inUse && error?.message.contains("n.sqlite") == true
        }
        #expect(told.all == [folder("state") + "/n.sqlite"])
        withExtendedLifetime(locker) {}
    }

    @Test func goesOnWhenTheLockIsGone() async throws {
        let store = try store()
        let locker = try locker()
        let record = try record()
        await #expect(throws: DownloadError.self) { try await store.commit(record, nil) }
        try locker.inDatabase { try $0.execute(sql: "COMMIT") }
        try await store.commit(record, nil)
        #expect(try await store.find(id: record.id)?.record.id == record.id)
    }

    @Test func openingASetUpThatNeverEndsFails() throws {
        _ = try store()
        let setup = try PosixFile(folder("state") + "/n.setup", flags: O_RDWR, mode: 0o600)
        #expect(try setup.lock())
        #expect {
            _ = try store()
        } throws: { error in
            let error = error as? DownloadError
            return error?.code == .inUse && error?.message.contains("n.setup") == true
        }
        setup.unlock()
        _ = try store()
    }
}

private final class Told: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }
    func add(_ text: String) { texts.withLock { $0.append(text) } }
}
