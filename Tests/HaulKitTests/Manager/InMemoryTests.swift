import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Downloaders whose store is in memory.
@Suite(.timeLimit(.minutes(60)))
struct InMemoryTests {
    @Test func downloadsWithoutAStateFolder() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.isInMemory = true }) { rig async throws in
            try await rig.download(try rig.named("a"))
            let slow = try await rig.downloader.add(try rig.named("b", "slow"))
            await slow.reaches(1000)
            try await slow.pause()
            #expect(try await rig.downloader.list(.all).map(\.state) == [.completed, .paused])
            #expect(!FileManager.default.fileExists(atPath: rig.configuration.storage.stateFolder))
            try await rig.another { other async throws in
                #expect(try await other.list(.all).isEmpty, "they share nothing")
            }
        }
    }

    @Test func leavesNoPartialFileWhenItShutsDown() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.isInMemory = true }) { rig async throws in
            try await rig.download(try rig.named("a"))
            let downloads = try ["b", "c"].map { try rig.named($0, "slow") }
            let added = try await rig.downloader.add(downloads).map { try $0.get() }
            for download in added { await download.reaches(1000) }
            try await added[0].pause()
            #expect(try rig.names() == ["a", "b.haulpart", "c.haulpart"])
            await rig.downloader.shutDown()
            #expect(try rig.names() == ["a"])
            #expect(await added[0].outcome() == .cancelled)
            #expect(await added[1].outcome() == .cancelled)
        }
    }
}
