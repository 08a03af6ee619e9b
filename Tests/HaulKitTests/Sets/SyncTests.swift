import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Tests ``Downloader/sync(_:into:options:)`` with a source of the application.
@Suite(.timeLimit(.minutes(60)))
struct SyncTests {
    /// A source that the application wrote.
    private struct OwnSource: SetSource {
        let set: FileSet
        func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet { set }
    }

    private func run(_ body: (DownloaderRig, Downloader) async throws -> Void) async throws {
        let handler: DownloaderRig.Handler = { request in
            guard let count = Int64(request.path.dropFirst("/file-".count)) else { return .empty(404, "Not Found") }
            return FileResource(content: TestContent(seed: 5, count: count), etag: "\"v\"").reply(to: request)
        }
        try await DownloaderRig.run(serving: { request, _ in handler(request) }) { rig async throws in
            try await body(rig, rig.downloader)
        }
    }

    private func file(_ name: String, _ count: Int64, _ rig: DownloaderRig, isRight: Bool = true) throws -> FileSet.File
    {
        let digest = TestContent(seed: isRight ? 5 : 6, count: count).digest(.sha256)
        return FileSet.File(
            name: name,
            url: try #require(URL(string: rig.server.url("/file-\(count)"))),
            size: count,
            checksum: DownloadRequest.Checksum(.sha256, digest: digest)
        )
    }

    @Test func fetchesASetAndReportsIt() async throws {
        try await run { rig, downloader in
            let source = OwnSource(
                set: FileSet(
                    files: [try file("a/b", 300_000, rig), try file("c", 10, rig)],
                    origin: "own",
                    revision: "7"
                )
            )
            let sync = try await downloader.sync(source, into: rig.folder + "/set")
            #expect(sync.wanted == 2 && sync.unchanged == 0)
            let report = try await sync.report()
            #expect(report.isWhole && report.fetched == 2 && report.revision == "7")
            #expect(report.files.map(\.name) == ["a/b", "c"] && report.bytes == 300_010)
            #expect(report.proofs == ["sha256": 2])
            #expect(try await sync.group.summary().completed == 2)
            let again = try await downloader.sync(source, into: rig.folder + "/set").report()
            #expect(again.isWhole && again.fetched == 0 && again.unchanged == 2)
            let copy = try JSONDecoder().decode(SetReport.self, from: JSONEncoder().encode(again))
            #expect(copy == again)
        }
    }

    @Test func reportsWhatFailedAndKeepsTheRest() async throws {
        try await run { rig, downloader in
            let source = OwnSource(
                set: FileSet(
                    files: [
                        try file("right", 10, rig), try file("wrong", 11, rig, isRight: false),
                        FileSet.File(name: "gone", url: try #require(URL(string: rig.server.url("/gone")))),
                        try file("../out", 12, rig),
                    ],
                    origin: "own"
                )
            )
            let report = try await downloader.sync(source, into: rig.folder + "/set").report()
            #expect(!report.isWhole && report.files.map(\.name) == ["right"])
            #expect(report.faults.map(\.name) == ["../out", "gone", "wrong"])
            #expect(report.faults.map(\.error.code) == [.invalidSet, .refusedByServer, .checksumMismatch])
            #expect(try await downloader.compare(rig.folder + "/set", with: source).faults.count == 3)
        }
    }

    @Test func anotherSyncOfTheFolderIsRefusedWhileOneRuns() async throws {
        try await run { rig, downloader in
            let source = OwnSource(set: FileSet(files: [try file("a", 10, rig)], origin: "own"))
            let work = try await downloader.prepareSync(source, into: rig.folder + "/set", SetOptions())
            let code = await #expect(throws: DownloadError.self) {
                _ = try await downloader.sync(source, into: rig.folder + "/set")
            }?.code
            #expect(code == .inUse)
            work.abandon()
            #expect(try await downloader.sync(source, into: rig.folder + "/set").report().isWhole)
        }
    }

    @Test func aRecordThatIsCutShortCostsOneReading() async throws {
        try await run { rig, downloader in
            let source = OwnSource(
                set: FileSet(files: [try file("a", 10, rig), try file("b", 20, rig)], origin: "own")
            )
            #expect(try await downloader.sync(source, into: rig.folder + "/set").report().isWhole)
            let path = (rig.folder + "/set/.haul/set.jsonl")
            let records = try Data(contentsOf: URL(fileURLWithPath: path))
            try records.dropLast(30).write(to: URL(fileURLWithPath: path))
            let report = try await downloader.sync(source, into: rig.folder + "/set").report()
            #expect(report.isWhole && report.fetched == 0 && report.unchanged == 2)
            // The file counts as found from now on, since its record was lost.
            let lines = try String(contentsOf: URL(fileURLWithPath: path), encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 3 && lines[1].contains("\"isBrought\":true"))
            #expect(lines[2].contains("\"isBrought\":false"))
        }
    }

    /// The records name a file that is not there any more, with its time and size on another one.
    @Test func aRecordIsNotBelievedOverTheBytes() async throws {
        try await run { rig, downloader in
            let source = OwnSource(set: FileSet(files: [try file("a", 10, rig)], origin: "own"))
            #expect(try await downloader.sync(source, into: rig.folder + "/set").report().isWhole)
            try Data("0123456789".utf8).write(to: URL(fileURLWithPath: (rig.folder + "/set/a")), options: .atomic)
            let report = try await downloader.sync(source, into: rig.folder + "/set").report()
            #expect(report.isWhole && report.fetched == 1)
        }
    }
}
