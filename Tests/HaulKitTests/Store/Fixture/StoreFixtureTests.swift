import Foundation
import GRDB
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Tests state folders of earlier versions and builds: see ``StoreFixture``.
struct StoreFixtureTests {
    private static let root = Checkout.root.appendingPathComponent("Tests/Fixtures")
    static let folders = ["state-6"]

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func copy(_ name: String) throws -> StoreDump {
        let original = Self.root.appendingPathComponent(name)
        try FileManager.default.copyItem(atPath: original.path, toPath: folder("state"))
        let expected = try Data(contentsOf: original.appendingPathComponent("expected.json"))
        return try JSONDecoder().decode(StoreDump.self, from: expected)
    }

    private func store(_ onOddRow: @escaping @Sendable (String) -> Void = { _ in }) throws -> DownloadStore {
        try DownloadStore(
            folder: folder("state"),
            name: StoreFixture.name,
            isExclusive: true,
            bootID: "another boot",
            onOddRow: onOddRow
        )
    }

    @Test func thereIsAFolderForEachVersionThatIsTested() throws {
        #expect(try FileManager.default.contentsOfDirectory(atPath: Self.root.path).sorted() == Self.folders)
    }

    @Test(arguments: folders)
    func keepsEveryRecordEveryRangeAndEveryOption(_ name: String) async throws {
        let expected = try copy(name)
        #expect(expected.downloads.count == 17 && expected.hostLimits.count == 2)
        // The second time there is nothing to migrate.
        for _ in 1...2 {
            let store = try store { Issue.record("unreadable: \($0)") }
            #expect(store.setAside == nil)
            let found = try await StoreDump(store, at: StoreFixture.date)
            for (found, expected) in zip(found.downloads, expected.downloads) { #expect(found == expected) }
            #expect(found == expected)
            await store.close()
        }
    }

    /// Builds between that of the fixture and version 0.1.0 left these states.
    @Test(arguments: 7...9)
    func keepsEveryRecordOfEachLaterState(_ state: Int) async throws {
        let expected = try copy("state-6")
        let queue = try DatabaseQueue(path: folder("state/\(StoreFixture.name).sqlite"))
        try EarlierStores.bring(queue, to: state)
        try queue.close()
        for _ in 1...2 {
            let store = try store { Issue.record("unreadable: \($0)") }
            #expect(store.setAside == nil)
            #expect(try await StoreDump(store, at: StoreFixture.date) == expected)
            let versions = try await store.reading { database in
                try String.fetchAll(database, sql: "SELECT identifier FROM grdb_migrations")
            }
            #expect(versions == ["0.1.0", "0.2.0"])
            await store.close()
        }
    }

    /// Migrates unreadable rows unchanged. They are reported and do not affect the other rows.
    @Test func migratesRowsThatCannotBeReadAsTheyAre() async throws {
        let expected = try copy("state-6")
        let texts = [
            "odd", "{\"size\":\"many\"}", "{\"link\":\"\",\"headers\":[]}",
            "{\"link\":\"https://a\",\"linkHeaders\":5}",
            "{\"isRepair\":\"odd\"}", "[1,2]", "-1", "{\"isBeside\":true,\"headers\":{}}",
        ]
        let queue = try DatabaseQueue(path: folder("state/\(StoreFixture.name).sqlite"))
        try await queue.write { database in
            for (number, text) in texts.enumerated() {
                try database.execute(
                    sql: "UPDATE download SET wishes = ? WHERE rowid = ?",
                    arguments: [text, number + 1]
                )
            }
        }
        try queue.close()
        let reported = Mutex<[String]>([])
        let store = try store { name in reported.withLock { $0.append(name) } }
        #expect(store.setAside == nil)
        let found = try await StoreDump(store, at: StoreFixture.date)
        #expect(found.downloads == Array(expected.downloads.dropFirst(texts.count)))
        #expect(reported.withLock { $0.count } == texts.count)
        let kept = try await store.reading { database in
            try String.fetchAll(
                database,
                sql: "SELECT request FROM download WHERE status = 'unreadable' ORDER BY rowid"
            )
        }
        #expect(kept.count == texts.count && kept.first == "odd")
        await store.close()
    }

    /// The process of the earlier version would take the migrated rows for unreadable ones.
    @Test func doesNotMigrateWhileAProcessOfAnEarlierVersionUsesTheStore() async throws {
        let expected = try copy("state-6")
        for isExclusive in [true, false] {
            let other = try PosixFile(folder("state/\(StoreFixture.name).lock"), flags: O_RDWR, mode: 0o600)
            #expect(try other.lockShared())
            let error = #expect(throws: DownloadError.self) {
                try DownloadStore(
                    folder: folder("state"),
                    name: StoreFixture.name,
                    isExclusive: isExclusive,
                    bootID: ""
                )
            }
            #expect(error?.code == .inUse)
            other.unlock()
        }
        let one = try DownloadStore(folder: folder("state"), name: StoreFixture.name, isExclusive: false, bootID: "")
        // After the migration several processes may use the store again.
        let two = try DownloadStore(folder: folder("state"), name: StoreFixture.name, isExclusive: false, bootID: "")
        #expect(try await two.all().count == expected.downloads.count)
        await one.close()
        await two.close()
    }

    @Test(arguments: folders)
    func listsEveryDownload(_ name: String) async throws {
        let expected = try copy(name)
        var configuration = Downloader.Configuration()
        (configuration.storage.stateFolder, configuration.storage.name) = (folder("state"), StoreFixture.name)
        (configuration.storage.restoration, configuration.storage.movingRoot) = (.onRequest, nil)
        let downloader = try await Downloader(configuration)
        let found = try await downloader.list()
        #expect(found == expected.downloads.map(\.snapshot))
        await downloader.shutDown()
    }
}
