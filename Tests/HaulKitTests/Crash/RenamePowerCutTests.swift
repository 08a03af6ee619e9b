import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Cuts the power at each operation of a rename, and of a move to another folder.
@Suite(.timeLimit(.minutes(60)))
struct RenamePowerCutTests {
    private static let content = TestContent(seed: 7, count: 90_000).bytes(0..<90_000)
    private static let names = ["/data/old.bin", "/data/new.bin"]

    /// A change of the path of a finished file.
    enum Change: String, Sendable, CaseIterable {
        case rename, move

        var target: String { self == .rename ? RenamePowerCutTests.names[1] : "/data/other/old.bin" }

        func make(_ download: Download) async throws(DownloadError) {
            switch self {
            case .rename: try await download.rename(to: "new.bin")
            case .move: try await download.move(toFolder: "/data/other")
            }
        }
    }

    private func request(_ path: String) throws -> DownloadRequest {
        DownloadRequest(try #require(URL(string: "http://server.test/file.bin")), to: .file(path: path))
    }

    private func downloader(
        _ disk: SimulatedDisk,
        _ folder: String,
        _ transport: ScriptedTransport,
        _ restoration: Downloader.Configuration.Restoration,
        _ snapshots: StoreSnapshots? = nil
    ) async throws -> Downloader {
        var configuration = Downloader.Configuration(stateFolder: folder)
        configuration.storage.restoration = restoration
        let isExclusive = restoration == .everything
        let store = try DownloadStore(folder: folder, name: "default", isExclusive: isExclusive, bootID: disk.bootID) {
            event in
            if !disk.isDead { snapshots?.note(event, of: folder) }
        }
        return try await Downloader(over: disk, transport, store, configuration)
    }

    @Test(arguments: [Downloader.Configuration.Restoration.everything, .onRequest], Change.allCases)
    func aCutLeavesTheFileUnderOneOfItsNames(
        _ restoration: Downloader.Configuration.Restoration,
        _ change: Change
    ) async throws {
        let names = [Self.names[0], change.target]
        var cuts = 0
        var found: Set<String> = []
        for seed in UInt64(1)...8 {
            for operation in 1...10 {
                let folder = try TemporaryFolder()
                let (disk, snapshots) = (SimulatedDisk(seed: seed), StoreSnapshots())
                let first = ScriptedTransport { request, _ in
                    ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
                }
                let before = try await downloader(disk, folder("a"), first, restoration, snapshots)
                let download = try await before.add(request(Self.names[0]))
                _ = try await download.result()
                try await download.pause()
                disk.cutPower(at: operation)
                let wasRenamed: Bool
                do throws(DownloadError) {
                    try await change.make(download)
                    wasRenamed = true
                } catch { wasRenamed = false }
                let isCut = disk.isDead
                await before.shutDown()
                guard isCut else { break }
                cuts += 1
                snapshots.end()
                disk.restart()
                var random = SplitMix64(seed: seed &* 31 &+ UInt64(operation))
                #expect(try snapshots.restore(into: folder("b"), choosing: &random))
                let context: Comment = "seed \(seed), operation \(operation), \(restoration), \(change)"
                let second = ScriptedTransport { _, _ in .init(status: 404) }
                let after = try await downloader(disk, folder("b"), second, restoration)
                let handle = try #require(try await after.find(id: download.id), context)
                let path = try #require(handle.snapshot.path, context)
                #expect(names.contains(path), context)
                #expect(!wasRenamed || path == names[1], context)
                #expect(disk.paths == [path], context)
                #expect(disk.content(path) == Self.content, context)
                #expect(try await handle.fileState() == .unchanged, context)
                // The download keeps its ID and fetches nothing again.
                let again = try await after.add(request(path))
                #expect(again.id == download.id, context)
                #expect(try await again.result().path == path, context)
                #expect(second.requests.isEmpty, context)
                await after.shutDown()
                found.insert(path)
            }
        }
        print("power cuts, \(change): \(cuts)")
        #expect(cuts > 8)
        #expect(found == Set(names))
    }

    @Test func aRenameThatTheDiskRefusesChangesNothing() async throws {
        let folder = try TemporaryFolder()
        let disk = SimulatedDisk(seed: 1)
        let transport = ScriptedTransport { request, _ in
            ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
        }
        let downloader = try await downloader(disk, folder("a"), transport, .everything)
        let download = try await downloader.add(request(Self.names[0]))
        _ = try await download.result()
        disk.fail("rename", with: .permissionDenied)
        let error = await #expect(throws: DownloadError.self) { try await download.rename(to: "new.bin") }
        #expect(error?.code == .permissionDenied)
        #expect(disk.paths == [Self.names[0]])
        #expect(try await download.fileState() == .unchanged)
        #expect(try await download.result().path == Self.names[0])
        disk.succeed()
        try await download.rename(to: "new.bin")
        #expect(disk.paths == [Self.names[1]])
        await downloader.shutDown()
    }
}
