import Foundation
import GRDB
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Rows written by a later version or edited by hand. None ends the process, hides another row or is trusted.
@Suite(.timeLimit(.minutes(60)))
struct OddRowTests {
    private static let odd: [(String, DatabaseValue)] = [
        ("nothing", .null), ("text", "odd".databaseValue), ("empty", "".databaseValue),
        ("blob", Data([0xFF, 0, 0xC3, 0x28]).databaseValue), ("negative", (-1).databaseValue),
        ("largest", Int64.max.databaseValue), ("smallest", Int64.min.databaseValue), ("fraction", 1.5.databaseValue),
        ("infinite", Double.infinity.databaseValue), ("enormous", 1e300.databaseValue),
        ("list", "[1,2]".databaseValue), ("object", "{\"size\":-1,\"total\":1e400}".databaseValue),
        ("numbers", "{\"size\":-5,\"total\":-5,\"kind\":\"file\"}".databaseValue),
        ("date", "99999-99-99".databaseValue),
        ("stretches", "5-3,-1-2,9223372036854775807-9223372036854775807,a-b".databaseValue),
        ("long", String(repeating: "9", count: 400).databaseValue),
    ]

    private let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder() }

    private func request(_ name: String) throws -> DownloadRequest {
        var request = DownloadRequest(
            try #require(URL(string: "https://a.example/\(name)?token=secret")),
            to: .folder(path: "/d")
        )
        request.key = name
        request.group = "group"
        return request
    }

    /// Fills a store with three downloads: waiting, begun and complete.
    private func fill() async throws -> [DownloadRecord] {
        let store = try store { _ in }
        let status = FileStatus(kind: .file, size: 9, allocated: 9, device: 1, inode: 2, born: 3, modified: 4)
        let waiting = DownloadRecord(DownloadID(), try request("waiting"), createdAt: Date(timeIntervalSince1970: 1))
        var begun = DownloadRecord(DownloadID(), try request("begun"), createdAt: Date(timeIntervalSince1970: 2))
        (begun.partPath, begun.finalPath, begun.part) = ("/d/begun.haulpart", "/d/begun", status)
        begun.resource = Resource(total: 20, validator: Validator())
        begun.error = DownloadError(.timedOut, "late")
        var done = DownloadRecord(DownloadID(), try request("done"), createdAt: Date(timeIntervalSince1970: 3))
        (done.status, done.finalPath, done.finished) = (.completed, "/d/done", status)
        done.finishedAt = Date(timeIntervalSince1970: 4)
        let persisted = PersistedRanges(written: 5, synced: 5)
        try await store.commit([(waiting, nil), (begun, persisted), (done, nil)])
        for fact in HostFact.allCases {
            try await store.record(fact, 4, of: Origin(try #require(URL(string: "https://a.example"))), at: Date())
        }
        await store.close()
        return [waiting, begun, done]
    }

    private func store(_ onOddRow: @escaping @Sendable (String) -> Void) throws -> DownloadStore {
        try DownloadStore(
            folder: folder("state"),
            name: "n",
            isExclusive: false,
            bootID: "b",
            onOddRow: onOddRow
        )
    }

    private func edit(_ sql: String, _ arguments: StatementArguments) throws {
        let queue = try DatabaseQueue(path: folder("state/n.sqlite"))
        // A value that the column does not allow cannot occur, so it need not be read.
        do { try queue.write { try $0.execute(sql: sql, arguments: arguments) } } catch is DatabaseError {}
        try queue.close()
    }

    private func columns(_ table: String) throws -> [String] {
        let queue = try DatabaseQueue(path: folder("state/n.sqlite"))
        let names = try queue.read { try $0.columns(in: table).map(\.name) }
        try queue.close()
        return names
    }

    /// Calls all queries of the store.
    private func askEverything(_ store: DownloadStore, _ records: [DownloadRecord]) async throws {
        _ = try await store.knownHosts(at: Date())
        #expect(try await store.lastPosition() < .max / 2)
        _ = try await store.unfinishedPublications()
        _ = try await store.queueItems(.all)
        _ = try await store.list(.all)
        _ = try await store.list(StoreCondition(DownloadFilter(group: "group"), live: [:]))
        _ = try await store.ids(.all)
        _ = try await store.count(.all)
        _ = try await store.summary(.all)
        _ = try await store.groups()
        _ = try await store.storedBytes()
        _ = try await store.places(nil)
        _ = try await store.gap(at: .last, besides: [])
        _ = try await store.find(ids: records.compactMap { DownloadID($0.id) })
        for record in records {
            let id = try #require(DownloadID(record.id))
            _ = try await store.gap(at: .after(id), besides: [])
            _ = try await store.find(id: record.id)
            _ = try await store.claim(record.id)
            if let path = record.finalPath { _ = try await store.find(finalPath: path) }
            if let path = record.partPath { _ = try await store.find(partPath: path, besides: "") }
        }
    }

    @Test(arguments: ["download", "progress", "host", "hostWorth"])
    func noValueOfAnyColumnEndsTheProcessOrHidesAnotherRow(table: String) async throws {
        var turn = 0
        for column in try await fill().isEmpty ? [] : columns(table) {
            for (name, value) in Self.odd {
                try FileManager.default.removeItem(atPath: folder("state"))
                let records = try await fill()
                turn += 1
                for record in [records[table == "download" ? turn % 3 : 1]] {
                    let key = table == "download" ? "id" : table == "progress" ? "downloadID" : "origin"
                    let place = table.hasPrefix("host") ? "1" : "\(key) = '\(record.id)'"
                    try edit("UPDATE \(table) SET \(column) = ? WHERE \(place)", [value])
                    let store = try store { _ in }
                    await #expect(throws: Never.self, "\(table).\(column) = \(name)") {
                        try await askEverything(store, records)
                        for other in records where other.id != record.id {
                            #expect(try await store.find(id: other.id)?.record.request == other.request)
                        }
                        // The URL of the odd row can be downloaded again.
                        let fresh = DownloadRecord(DownloadID(), try request("fresh"), createdAt: Date())
                        try await store.commit(fresh, nil)
                        try await store.remove(fresh.id)
                    }
                    // Closes the store, because its files are removed for the next round.
                    await store.close()
                }
            }
        }
    }

    @Test func namesARowThatCannotBeReadOnceAndLetsItsKeyGo() async throws {
        let records = try await fill()
        try edit("UPDATE download SET request = 'odd' WHERE id = ?", [records[0].id])
        let box = Told()
        let store = try store { box.add($0) }
        let wanted = try [request("waiting"), request("begun")]
        let found = try await store.find(wanted)
        #expect(found[0] == nil && found[1]?.record.id == records[1].id)
        #expect(box.all.count == 1)
        #expect(box.all.first?.contains(records[0].id) == true)
        #expect(box.all.first?.contains("https://a.example/waiting") == true)
        #expect(box.all.first?.contains("secret") == false)

        let fresh = DownloadRecord(DownloadID(), try request("waiting"), createdAt: Date())
        try await store.commit(fresh, nil, durably: true)
        #expect(try await store.find(wanted)[0]?.record.id == fresh.id)
        #expect(box.all.count == 1)
    }

    /// Simulates a changed digit in the ranges.
    @Test func aClaimOfMoreBytesThanWereCountedIsNone() async throws {
        let records = try await fill()
        try edit("UPDATE progress SET written = '0-7', synced = '0-7'", [])
        let saved = try await store { _ in }.find(id: records[1].id)
        #expect(saved?.progress?.received == 5 && saved?.progress?.persisted(bootID: "b") == .zero)
    }

    @Test func listsNameARowThatCannotBeRead() async throws {
        let records = try await fill()
        try edit("UPDATE download SET request = 'odd' WHERE id = ?", [records[1].id])
        let box = Told()
        let store = try store { box.add($0) }
        #expect(try await store.list(.all).map(\.record.id) == [records[0].id, records[2].id])
        #expect(box.all.count == 1 && box.all.first?.contains(records[1].id) == true)
    }

    @Test func aDownloadWhoseRowCannotBeReadHasFailedAndIsNotCancelled() async throws {
        let records = try await fill()
        try edit("UPDATE download SET request = 'odd' WHERE id = ?", [records[0].id])
        let store = try store { _ in }
        for _ in 0..<2 {
            let error = await #expect(throws: DownloadError.self) { try await store.findReadable(id: records[0].id) }
            #expect(error?.code == .storeFailed)
        }
        #expect(try await store.findReadable(id: DownloadID().description) == nil)
    }

    @Test func oddProgressClaimsNothing() async throws {
        let records = try await fill()
        try edit("UPDATE progress SET written = x'FF', synced = 'odd', received = 'many'", [])
        let saved = try await store { _ in }.find(id: records[1].id)
        #expect(saved != nil && saved?.progress?.persisted(bootID: "b").count ?? 0 == 0)
    }
}

private final class Told: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }
    func add(_ text: String) { texts.withLock { $0.append(text) } }
}
