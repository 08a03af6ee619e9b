import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Somebody renames files of a set while others of it are still being fetched.
@Suite(.timeLimit(.minutes(60)))
struct SyncRenamedFileTests {
    private struct Source: SetSource {
        let set: FileSet
        func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet { set }
    }

    private static let last = TestContent(seed: 9, count: 4000)
    private static let others = [TestContent(seed: 5, count: 3000), TestContent(seed: 6, count: 3000)]

    @Test func aStrangersPartialFileBesideASetStays() async throws {
        let content = Self.others[0]
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let folder = rig.folder + "/set"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try rig.put("precious", at: folder + "/s0.haulpart")
            let file = FileSet.File(
                name: "s0",
                url: try #require(URL(string: rig.server.url("/0"))),
                checksum: DownloadRequest.Checksum(.sha256, digest: content.digest(.sha256))
            )
            let source = Source(set: FileSet(files: [file], origin: "own"))
            let report = try await rig.downloader.sync(source, into: folder).report()
            #expect(report.faults.map(\.error.code) == [.fileExists])
            #expect(try rig.text(at: folder + "/s0.haulpart") == "precious")
        }
    }

    /// Runs `change` when all files but the last are complete.
    ///
    /// - Returns: the reports of this sync and of the next.
    private func run(_ change: (DownloaderRig, SetSync) async throws -> Void) async throws -> (SetReport, SetReport) {
        let gate = Gate()
        var reports: [SetReport] = []
        let handler: DownloaderRig.Handler = { request in
            let number = Int(request.path.dropFirst()) ?? 2
            let content = number < 2 ? Self.others[number] : Self.last
            var reply = FileResource(content: content, etag: "\"v\"").reply(to: request)
            if number == 2 { reply.steps.insert(.waitUntil { gate.isOpen }, at: 1) }
            return reply
        }
        try await DownloaderRig.run(serving: handler) { rig async throws in
            let contents = Self.others + [Self.last]
            let files = try contents.enumerated().map { number, content in
                FileSet.File(
                    name: "s\(number)",
                    url: try #require(URL(string: rig.server.url("/\(number)"))),
                    checksum: DownloadRequest.Checksum(.sha256, digest: content.digest(.sha256))
                )
            }
            let source = Source(set: FileSet(files: files, origin: "own"))
            let sync = try await rig.downloader.sync(source, into: rig.folder + "/set")
            while try await sync.group.summary().completed < 2 { try await Task.sleep(for: .milliseconds(10)) }
            try await change(rig, sync)
            gate.open()
            reports.append(try await sync.report())
            reports.append(try await rig.downloader.sync(source, into: rig.folder + "/set").report())
            for (number, content) in contents.enumerated() {
                #expect(try content.matches(fileAt: rig.folder + "/set/s\(number)"))
            }
        }
        return (reports[0], reports[1])
    }

    private final class Gate: Sendable {
        private let state = Mutex(false)
        var isOpen: Bool { state.withLock { $0 } }
        func open() { state.withLock { $0 = true } }
    }

    private func download(
        _ rig: DownloaderRig,
        _ sync: SetSync,
        where isWanted: (DownloadSnapshot) -> Bool
    ) async throws -> Download {
        let snapshot = try #require(try await sync.group.list().first(where: isWanted))
        return try #require(try await rig.downloader.find(id: snapshot.id))
    }

    private func download(_ name: String, _ rig: DownloaderRig, _ sync: SetSync) async throws -> Download {
        try await download(rig, sync) { $0.path?.hasSuffix("/" + name) == true }
    }

    @Test func aSetWhoseFileWasRenamedIsNotWhole() async throws {
        let (first, second) = try await run { rig, sync in
            try await download("s0", rig, sync).rename(to: "other")
        }
        #expect(!first.isWhole && first.faults.map(\.name) == ["s0"] && first.files.map(\.name) == ["s1", "s2"])
        #expect(first.faults.first?.error.message.contains("renamed") == true)
        #expect(second.isWhole && second.fetched == 1)
    }

    @Test func aSetWhoseFilesChangedTheirNamesIsNotWhole() async throws {
        let (first, second) = try await run { rig, sync in
            let (one, other) = (try await download("s0", rig, sync), try await download("s1", rig, sync))
            try await one.rename(to: "third")
            try await other.rename(to: "s0")
            try await one.rename(to: "s1")
        }
        #expect(first.faults.map(\.name) == ["s0", "s1"] && first.files.map(\.name) == ["s2"])
        #expect(second.isWhole)
    }

    @Test func anUnfinishedFileOfASetKeepsItsName() async throws {
        let (first, _) = try await run { rig, sync in
            let running = try await download(rig, sync) { $0.state != .completed }
            let renaming = await #expect(throws: DownloadError.self) { try await running.rename(to: "x") }
            let moving = await #expect(throws: DownloadError.self) { try await running.move(toFolder: rig.folder) }
            #expect(renaming?.code == .inUse && moving?.code == .inUse)
        }
        #expect(first.isWhole && first.fetched == 3)
    }
}
