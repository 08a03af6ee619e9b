import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// How long the records of finished downloads are kept.
@Suite(.timeLimit(.minutes(60)))
struct RecordKeepingTests {
    @Test func dropsTheRecordsOfFinishedDownloadsAndLeavesTheirFiles() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.keepsFinishedRecords = .none }) {
            rig async throws in
            let names = (0..<20).map { "file\($0)" }
            let downloads = try await rig.downloader.add(names.map { try rig.named($0) }).map { try $0.get() }
            let missing = try await rig.downloader.add(try rig.named("gone", "missing"))
            for download in downloads {
                _ = try await download.result()
                while try await rig.downloader.find(id: download.id) != nil { await Task.yield() }
            }
            for download in downloads {
                #expect(try await download.result().bytes == Int64(TestContent.small.count))
                #expect(download.snapshot.state == .completed)
                #expect(try await rig.downloader.find(id: download.id)?.id == nil)
            }
            _ = await missing.outcome()
            #expect(try await rig.downloader.list(.all).map(\.id) == [missing.id], "a failure stays")
            #expect(try rig.names() == names.sorted())
        }
    }

    @Test func dropsThemWhenTheyAreOldEnough() async throws {
        let (script, clock) = (DownloadScript(), ManualClock())
        let link = "https://h.example/a.bin"
        try script.respond(to: link, with: .data([1, 2, 3]))
        let downloader = try await Downloader.scripted(script, clock: clock) {
            $0.storage.keepsFinishedRecords = .for(.seconds(3600))
        }
        let file = try await downloader.download(link, to: script.folder).result()
        clock.advance(by: .seconds(3500))
        #expect(try await downloader.list(.all).map(\.id) == [file.id])
        // The timer may not have been set before.
        while try await !downloader.list(.all).isEmpty {
            clock.advance(by: .seconds(60))
            await Task.yield()
        }
        #expect(FileManager.default.fileExists(atPath: file.path))
        await downloader.shutDown()
    }

    @Test func dropsWhatIsThereWhenThatIsChanged() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let file = try await rig.download(try rig.named("a"))
            try await rig.downloader.update { $0.storage.keepsFinishedRecords = .for(.seconds(3600)) }
            let paused = try await rig.downloader.add(try rig.named("b") { $0.startsPaused = true })
            #expect(try await rig.downloader.list(.all).map(\.id) == [file.id, paused.id])
            try await rig.downloader.update { $0.storage.keepsFinishedRecords = .none }
            while try await rig.downloader.list(.all).map(\.id) != [paused.id] { await Task.yield() }
        }
    }

    @Test func dropsWhatAnEarlierRunFinished() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            try await rig.download(try rig.named("a"))
            var configuration = rig.configuration
            configuration.storage.keepsFinishedRecords = .none
            try await rig.reopened(configuration) { next async throws in
                while try await !next.list(.all).isEmpty { await Task.yield() }
                #expect(try rig.names() == ["a"])
            }
        }
    }
}
