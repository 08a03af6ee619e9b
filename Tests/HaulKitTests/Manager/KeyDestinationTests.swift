import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Keys that are added again with another destination.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct KeyDestinationTests {
    private func keyed(_ rig: DownloaderRig, _ kind: String = "fast", to folder: String) throws -> DownloadRequest {
        try rig.request("/\(kind)/x.bin") { request in
            request.destination = .folder(path: rig.folder + "/" + folder)
            request.key = "k"
        }
    }

    @Test(arguments: [true, false])
    func aFinishedOneIsFetchedIntoTheNewFolder(isNewProcess: Bool) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let first = try await rig.downloader.add(try keyed(rig, to: "A"))
            #expect(try await first.result().path == rig.folder + "/A/x.bin")
            func again(_ downloader: Downloader) async throws {
                let second = try await downloader.add(try keyed(rig, to: "B"))
                #expect(second.id == first.id)
                let done = try await second.result()
                #expect(done.path == rig.folder + "/B/x.bin" && !done.alreadyExisted)
                #expect(try TestContent.small.matches(fileAt: done.path))
                #expect(try TestContent.small.matches(fileAt: rig.folder + "/A/x.bin"), "it is left alone")
                // Now the file exists at the new destination.
                let third = try await downloader.add(try keyed(rig, to: "B")).result()
                #expect(third.path == done.path && third.alreadyExisted)
                #expect(try await downloader.count() == 1)
            }
            if isNewProcess { try await rig.reopened(nil, again) } else { try await again(rig.downloader) }
        }
    }

    @Test func theFileItselfMayBeNamedForTheFolder() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            _ = try await rig.downloader.add(try keyed(rig, to: "A")).result()
            let named = try rig.request("/fast/x.bin") { request in
                request.destination = .file(path: rig.folder + "/A/x.bin")
                request.key = "k"
            }
            #expect(try await rig.download(named).alreadyExisted)
            #expect(try await rig.download(try keyed(rig, to: "A")).alreadyExisted)
        }
    }

    @Test(arguments: [true, false])
    func anUnfinishedOneGoesOnWithItsBytes(isNewProcess: Bool) async throws {
        let content = TestContent.first
        try await DownloaderRig.run(
            configure: { $0.storage.restoration = .everything },
            serving: content.resource().silentFirst()
        ) { rig async throws in
            func keyed(_ folder: String) throws -> DownloadRequest {
                try rig.request { request in
                    request.destination = .folder(path: rig.folder + "/" + folder)
                    request.key = "k"
                }
            }
            _ = try await rig.paused(try keyed("A"), at: cut)
            func again(_ downloader: Downloader) async throws {
                let done = try await downloader.add(try keyed("B")).result()
                #expect(done.path == rig.folder + "/B/file.bin")
                #expect(try content.matches(fileAt: done.path))
                #expect(try FileManager.default.contentsOfDirectory(atPath: rig.folder + "/A") == [])
                #expect(rig.ranges == [nil, "bytes=\(cut)-"])
            }
            if isNewProcess { try await rig.reopened(nil, again) } else { try await again(rig.downloader) }
        }
    }

    @Test func oneThatHasNotBegunJustGoesThere() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let slow = try await rig.downloader.add(try rig.named("slow", "slow"))
            await slow.reaches(1000)
            let first = try await rig.downloader.add(try keyed(rig, to: "A"))
            let second = try await rig.downloader.add(try keyed(rig, to: "B"))
            #expect(first.id == second.id)
            try await slow.cancel()
            #expect(try await first.result().path == rig.folder + "/B/x.bin")
            #expect(try rig.names() == ["B"])
        }
    }

    @Test func oneThatRunsIsNotTurnedRound() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let running = try await rig.downloader.add(try keyed(rig, "slow", to: "A"))
            await running.reaches(1000)
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.add(try keyed(rig, "slow", to: "B"))
            }
            #expect(error?.code == .inUse)
            #expect(try await rig.downloader.add(try keyed(rig, "slow", to: "A")).id == running.id)
        }
    }
}
