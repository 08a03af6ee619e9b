import Foundation
import GRDB
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Stores whose files are damaged while closed. Each store opens with all readable rows.
@Suite(.timeLimit(.minutes(60)))
struct SalvageTests {
    private let folder: TemporaryFolder
    private var path: String { folder("state/n.sqlite") }

    init() throws { folder = try TemporaryFolder() }

    private func store(_ bootID: String = "b") throws -> DownloadStore {
        try DownloadStore(folder: folder("state"), name: "n", isExclusive: true, bootID: bootID)
    }

    private func record(_ number: Int) throws -> DownloadRecord {
        var request = DownloadRequest(
            try #require(URL(string: "https://a.example/file-\(number)?token=secret")),
            to: .folder(path: "/d")
        )
        if number % 3 == 0 { request.key = "key \(number)" }
        let status = FileStatus(kind: .file, size: 9, allocated: 9, device: 1, inode: 2, born: 3, modified: 4)
        var record = DownloadRecord(DownloadID(), request, createdAt: Date(timeIntervalSince1970: Double(number)))
        record.position = Int64(number) << 16
        switch number % 4 {
        case 0: (record.status, record.finalPath, record.finished) = (.completed, "/d/file-\(number)", status)
        case 1: (record.partPath, record.part) = ("/d/file-\(number).haulpart", status)
        default: record.status = .paused
        }
        return record
    }

    /// - Returns: the downloads of a closed store, in the order of their addition.
    @discardableResult
    private func fill(_ count: Int = 400) async throws -> [DownloadRecord] {
        let store = try store()
        let records = try (0..<count).map { try record($0) }
        try await store.commit(
            records.map { ($0, $0.partPath == nil ? nil : PersistedRanges(written: 500, synced: 400)) },
            durably: true
        )
        try await store.remember([StoredSetting(name: "queue.jobs", value: "7")])
        await store.close()
        return records
    }

    /// Copies the log of the closed store into its database, and returns the bytes of the database.
    private func bytes() throws -> [UInt8] {
        if FileManager.default.fileExists(atPath: path + "-wal") {
            let queue = try DatabaseQueue(path: path)
            _ = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM download") }
            try queue.close()
        }
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Replaces the store's file by `bytes`.
    private func put(_ bytes: [UInt8]) throws {
        try FileManager.default.removeItem(atPath: folder("state"))
        try folder.makeFolder("state")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    private func overwrite(_ bytes: [UInt8], page: Int, with byte: UInt8) -> [UInt8] {
        var bytes = bytes
        for index in page * 4096..<(page + 1) * 4096 { bytes[index] = byte }
        return bytes
    }

    // MARK: What is kept

    @Test func makesAStoreAnewWhoseMakerWasKilledBeforeItsFirstTable() async throws {
        try folder.makeFolder("state")
        let queue = try DatabaseQueue(path: path)
        try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try queue.close()
        #expect(try bytes().count == 4096)
        let store = try store()
        #expect(store.setAside == nil && store.salvage == nil)
        await store.close()
    }

    @Test func losesNoMoreThanTheRowsOfThePageThatIsDamaged() async throws {
        let records = try await fill()
        let before = try bytes()
        var lostOfAll = 0
        for page in 0..<before.count / 4096 {
            try put(overwrite(before, page: page, with: page % 2 == 0 ? 0 : 0x5A))
            let store = try store()
            let found = try await store.all()
            let lost = records.count - found.count
            // The largest number of rows on a leaf page.
            #expect(lost <= 24, "page \(page)")
            #expect(store.setAside != nil || lost == 0)
            if let salvage = store.salvage { #expect(salvage.lost == lost && salvage.kept == found.count) }
            let known = Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0) })
            #expect(found.allSatisfy { known[$0.record.id] == $0.record }, "page \(page)")
            #expect(try await store.list(.all).map(\.record.id) == found.map(\.record.id))
            lostOfAll += lost
            await store.close()
        }
        // Each download is on one page.
        #expect(lostOfAll == records.count)
    }

    @Test(arguments: 0..<40)
    func opensWhateverBytesAreChanged(seed: UInt64) async throws {
        let records = try await fill(200)
        var bytes = try bytes()
        var random = SplitMix64(seed: seed)
        for _ in 0..<[1, 8, 64][Int(seed % 3)] {
            // Every third store is damaged in the database header.
            let place = Int(random.next() % UInt64(seed % 3 == 0 ? 100 : bytes.count))
            bytes[place] ^= UInt8(truncatingIfNeeded: random.next() | 1)
        }
        try put(bytes)
        let store = try store()
        let found = try await store.list(.all)
        #expect(records.count - found.count <= 70)
        #expect(try await store.count(.all) >= found.count)
        for row in found where records.contains(where: { $0.id == row.record.id && $0.status == .completed }) {
            #expect(row.record.status == .completed)
        }
        try await store.commit(try record(1000), nil, durably: true)
        await store.close()
    }

    @Test(arguments: [0, 100, 4096, 20_000])
    func opensAStoreThatWasCut(length: Int) async throws {
        let records = try await fill()
        let before = try bytes()
        try Data(before.prefix(length)).write(to: URL(fileURLWithPath: path))
        let store = try store()
        #expect(store.setAside != nil)
        #expect(try await store.all().count < records.count)
        await store.close()
    }

    /// SQLite opens each of these without an error.
    @Test func salvagesAStoreWithAnotherColumnReferenceEncodingOrFormat() async throws {
        let records = try await fill()
        let before = try bytes()
        let column = try #require(Data(before).range(of: Data("proof TEXT".utf8)))
        let reference = try #require(Data(before).range(of: Data("REFERENCES download".utf8)))
        let changes = [
            (column.lowerBound, UInt8(ascii: "q")), (reference.upperBound - 2, 0xAA), (59, 0), (59, 0x81), (18, 3),
            (18, 0x66),
        ]
        for (place, byte) in changes {
            var bytes = before
            bytes[place] = byte
            try put(bytes)
            let store = try store()
            #expect(store.setAside != nil, "\(place)")
            #expect(try await store.all().map(\.record) == records)
            await store.close()
        }
    }

    @Test func keepsKeysPlacesClaimsAndSettings() async throws {
        let records = try await fill()
        // Page 1 has the database header and the schema.
        try put(overwrite(try bytes(), page: 0, with: 0))
        let store = try store()
        let all = try await store.all()
        try #require(all.map(\.record) == records)
        #expect(all[1].progress?.persisted(bootID: "b") == PersistedRanges(written: 500, synced: 400))
        #expect(all[1].progress?.persisted(bootID: "another") == PersistedRanges(written: 400, synced: 400))
        #expect(try await store.settings() == [StoredSetting(name: "queue.jobs", value: "7")])
        #expect(try await store.lastPosition() == records.last?.position)
        await store.close()
    }

    @Test func bringsNothingBackThatWasRemoved() async throws {
        var records = try await fill()
        let store = try store()
        for record in records[50..<350] { try await store.remove(record.id) }
        await store.close()
        records.removeSubrange(50..<350)
        let before = try bytes()
        for page in stride(from: 1, to: before.count / 4096, by: 7) {
            try put(overwrite(before, page: page, with: 0x5A))
            let store = try self.store()
            let found = try await store.all().map(\.record.id)
            #expect(Set(found).isSubset(of: records.map(\.id)), "page \(page)")
            await store.close()
        }
    }

    // MARK: The log

    /// Leaves a store in the state after its process was killed.
    private func kill() async throws -> [DownloadRecord] {
        let store = try store()
        let records = try (0..<200).map { try record($0) }
        for record in records { try await store.commit(record, nil) }
        for name in ["n.sqlite", "n.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: folder("state/" + name), toPath: folder(name))
        }
        await store.close()
        try FileManager.default.removeItem(atPath: folder("state"))
        try folder.makeFolder("state")
        for name in ["n.sqlite", "n.sqlite-wal"] {
            try FileManager.default.moveItem(atPath: folder(name), toPath: folder("state/" + name))
        }
        return records
    }

    @Test func keepsTheCommitsBehindADamagedOneOfTheLog() async throws {
        let records = try await kill()
        let log = URL(fileURLWithPath: path + "-wal")
        var bytes = Array(try Data(contentsOf: log))
        // The page in the fiftieth frame.
        let frame = 32 + 50 * (24 + 4096)
        for index in frame + 24..<frame + 24 + 4096 { bytes[index] = 0 }
        try Data(bytes).write(to: log)
        let store = try store()
        #expect(store.setAside != nil)
        // Later commits wrote each page again.
        #expect(Set(try await store.all().map(\.record.id)) == Set(records.map(\.id)))
        await store.close()
    }

    /// The magic number with the byte order, the salts, and the checksum.
    @Test(arguments: [0, 3, 17, 26])
    func readsALogWhoseHeaderIsDamaged(_ place: Int) async throws {
        let records = try await kill()
        let log = URL(fileURLWithPath: path + "-wal")
        var bytes = Array(try Data(contentsOf: log))
        bytes[place] ^= 0xFF
        try Data(bytes).write(to: log)
        let store = try store()
        #expect(store.setAside != nil)
        #expect(Set(try await store.all().map(\.record.id)) == Set(records.map(\.id)))
        await store.close()
    }

    @Test func readsALogWhoseHeaderAndFirstFrameAreDamaged() async throws {
        let records = try await kill()
        let log = URL(fileURLWithPath: path + "-wal")
        var bytes = Array(try Data(contentsOf: log))
        for index in 0..<100 { bytes[index] ^= 0x5A }
        try Data(bytes).write(to: log)
        let store = try store()
        #expect(store.setAside != nil)
        // The first frames hold the tables, which the new store has anyway.
        #expect(Set(try await store.all().map(\.record.id)) == Set(records.map(\.id)))
        await store.close()
    }

    @Test func salvagesTheLogOfAStoreWhoseFileIsGone() async throws {
        let records = try await kill()
        try FileManager.default.removeItem(atPath: path)
        let store = try store()
        #expect(store.setAside != nil)
        #expect(Set(try await store.all().map(\.record.id)) == Set(records.map(\.id)))
        await store.close()
    }

    @Test func saysThatAllIsLostOfAStoreThatIsGone() async throws {
        try await fill()
        try FileManager.default.removeItem(atPath: path)
        let store = try store()
        let salvage = try #require(store.salvage)
        #expect(salvage.kept == 0 && salvage.sentence().contains("all that it held is lost"))
        await store.close()
    }

    @Test func opensAStoreBehindASymbolicLink() async throws {
        let records = try await kill()
        try folder.makeFolder("elsewhere")
        for name in ["n.sqlite", "n.sqlite-wal"] {
            try FileManager.default.moveItem(atPath: folder("state/" + name), toPath: folder("elsewhere/" + name))
        }
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder("elsewhere/n.sqlite"))
        let store = try store()
        #expect(store.setAside == nil)
        #expect(try await store.all().map(\.record) == records)
        await store.close()
    }

    /// The list of free pages contains a page of rows.
    @Test func keepsTheRowsOfAPageThatIsSaidToBeFree() async throws {
        let records = try await fill()
        let before = try bytes()
        let leaf = try #require((1..<before.count / 4096).last { before[$0 * 4096] == 13 })
        var bytes = before
        bytes.replaceSubrange(
            32..<36,
            with: [0, 0, UInt8(truncatingIfNeeded: (leaf + 1) >> 8), UInt8(truncatingIfNeeded: leaf + 1)]
        )
        bytes[39] = 1
        try put(bytes)
        let store = try store()
        #expect(store.setAside != nil)
        #expect(Set(try await store.all().map(\.record.id)) == Set(records.map(\.id)))
        await store.close()
    }

    @Test func takesAnIntactLogOver() async throws {
        let records = try await kill()
        let store = try store()
        #expect(store.setAside == nil)
        #expect(try await store.all().map(\.record) == records)
        await store.close()
    }

    // MARK: What is said

    @Test func namesWhatIsLostAndKeepsTheDamagedStore() async throws {
        let records = try await fill()
        let before = try bytes()
        let marker = Array("https://a.example/file-200?".utf8)
        // Only a page of rows, unlike a page of an index, also contains the folder.
        let page = try #require(
            (0..<before.count / 4096).first { page in
                let bytes = Data(before[page * 4096..<(page + 1) * 4096])
                return bytes.range(of: Data(marker)) != nil && bytes.range(of: Data("/d".utf8)) != nil && bytes[0] == 13
            }
        )
        let damaged = overwrite(before, page: page, with: 0)
        try put(damaged)
        let store = try store()
        let salvage = try #require(store.salvage)
        #expect(salvage.path == store.setAside)
        #expect(FileManager.default.fileExists(atPath: salvage.path))
        #expect(salvage.names.contains { $0.hasPrefix("https://a.example/file-200") })
        #expect(salvage.lost == records.count - salvage.kept && salvage.lost > 0)
        #expect(salvage.sentence().contains(salvage.path) && !salvage.sentence(names: .max).contains("secret"))
        await store.close()

        // The salvage is reported until the damaged store is removed.
        let next = try self.store()
        #expect(next.setAside == nil && next.salvage == salvage)
        try FileManager.default.removeItem(atPath: salvage.path)
        #expect(next.salvage == nil)
        await next.close()
    }

    @Test func endsASalvageThatWasKilledBetweenTwoNames() async throws {
        let records = try await fill()
        try FileManager.default.moveItem(atPath: path, toPath: path + ".salvaged")
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path + "-wal"))
        let store = try store()
        #expect(try await store.all().map(\.record) == records)
        await store.close()
    }

    // MARK: When it is looked for

    @Test func looksThroughOnlyAStoreThatIsNotAsItWasLeft() {
        func mark(_ changed: Int64, size: Int64 = 100, inode: UInt64 = 1, bootID: String = "b") -> StoreMark {
            StoreMark(inode: inode, size: size, modified: 1, changed: changed, bootID: bootID)
        }
        #expect(StoreCheck(left: nil, present: nil) == .none)
        #expect(StoreCheck(left: nil, present: mark(1)) == .everything)
        #expect(StoreCheck(left: mark(1), present: mark(1, bootID: "c")) == .none)
        #expect(StoreCheck(left: mark(1), present: mark(2)) == .everything)
        #expect(StoreCheck(left: mark(1), present: mark(1, inode: 2)) == .everything)
        let large: Int64 = 1 << 30
        #expect(StoreCheck(left: mark(1, size: large), present: mark(2, size: large)) == .pages)
        #expect(StoreCheck(left: mark(1, size: large), present: mark(2, size: large, bootID: "c")) == .everything)
        #expect(StoreMark(text: mark(5).text) == mark(5))
        for text in ["", "1", "2 1 1 1 1 b", "1 a 1 1 1 b", "1 1 1 1 1"] { #expect(StoreMark(text: text) == nil) }
    }

    @Test func leavesAMarkThatTheNextStartBelieves() async throws {
        try await fill()
        let left = try #require(StoreHealth.mark(of: path))
        #expect(try left.isSameContent(as: SystemCalls.mark(path, bootID: "")))
        #expect(StoreCheck(left: left, present: try SystemCalls.mark(path, bootID: "")) == .none)
        try put(try bytes())
        #expect(StoreCheck(left: left, present: try SystemCalls.mark(path, bootID: "")) != .none)
    }
}
