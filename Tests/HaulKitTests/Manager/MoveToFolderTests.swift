import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Moving the file of a download to another folder.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct MoveToFolderTests {
    @Test(arguments: [true, false])
    func movesAFinishedFile(isNamed: Bool) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let request = try rig.named("a") { if !isNamed { $0.destination = .folder(path: rig.folder) } }
            let download = try await rig.downloader.add(request)
            let name = FilePaths.name(of: try await download.result().path)
            try await download.move(toFolder: rig.folder + "/new/sub")
            let path = rig.folder + "/new/sub/" + name
            #expect(download.snapshot.path == path)
            #expect(try await download.result().path == path)
            #expect(try await download.fileState() == .unchanged)
            #expect(FileManager.default.fileExists(atPath: path))
            #expect(try rig.names() == ["new"])
            try await download.rename(to: "b.bin")
            #expect(download.snapshot.path == rig.folder + "/new/sub/b.bin")
            try await rig.reopened { next async throws in
                #expect(try await next.find(id: download.id)?.snapshot.path == rig.folder + "/new/sub/b.bin")
            }
        }
    }

    @Test func aNameAndAFolderAreOneChangeOrNone() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            _ = try await download.result()
            for name in ["x/y", "", "b.haulpart"] {
                let code = await thrownCode { try await download.relocate(toFolder: rig.folder + "/new", name: name) }
                #expect(code == .invalidDestination)
            }
            #expect(try rig.names() == ["a"], "no folder was made")
            try await download.relocate(toFolder: rig.folder + "/new", name: "b")
            #expect(try await download.result().path == rig.folder + "/new/b")
            #expect(try rig.names() == ["new"])
            try rig.put("mine", at: rig.folder + "/c")
            #expect(await thrownCode { try await download.relocate(toFolder: rig.folder, name: "c") } == .fileExists)
            #expect(try rig.text(at: rig.folder + "/c") == "mine")
            #expect(try await download.result().path == rig.folder + "/new/b")
        }
    }

    @Test func anUnfinishedOneGetsItsNameAndItsFolderTogether() async throws {
        try await DownloaderRig.run(serving: TestContent.first.resource().silentFirst()) { rig async throws in
            let download = try await rig.downloader.add(try rig.request { $0.destination = .folder(path: rig.folder) })
            await download.reaches(cut)
            try await download.relocate(toFolder: rig.folder + "/other", name: "b.bin")
            #expect(download.snapshot.path == rig.folder + "/other/b.bin")
            try await download.pause()
            try await download.resume()
            #expect(try await download.result().path == rig.folder + "/other/b.bin")
            #expect(try rig.names() == ["other"])
        }
    }

    @Test func replacesNothing() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a") { $0.onConflict = .overwrite })
            _ = try await download.result()
            try FileManager.default.createDirectory(atPath: rig.folder + "/other", withIntermediateDirectories: false)
            try rig.put("mine", at: rig.folder + "/other/a")
            #expect(await thrownCode { try await download.move(toFolder: rig.folder + "/other") } == .fileExists)
            #expect(try rig.text(at: rig.folder + "/other/a") == "mine")
            #expect(try await download.result().path == rig.folder + "/a")
            #expect(try await download.fileState() == .unchanged)
            try await download.move(toFolder: rig.folder)
        }
    }

    @Test func leavesAloneWhatIsNotTheFileAnyMore() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            _ = try await download.result()
            try FileManager.default.moveItem(atPath: rig.folder + "/a", toPath: rig.folder + "/elsewhere")
            try rig.put("mine", at: rig.folder + "/a")
            #expect(await thrownCode { try await download.move(toFolder: rig.folder + "/other") } == .diskFailed)
            #expect(try rig.text(at: rig.folder + "/a") == "mine")
        }
    }

    @Test(arguments: [true, false])
    func anUnfinishedOneEndsInTheFolder(isRunning: Bool) async throws {
        let content = TestContent.first
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let download = try await rig.downloader.add(
                try rig.request { $0.destination = .folder(path: rig.folder) }
            )
            await download.reaches(cut)
            if !isRunning { try await download.pause() }
            try await download.move(toFolder: rig.folder + "/other")
            #expect(download.snapshot.path == rig.folder + "/other/file.bin")
            #expect(download.snapshot.state == (isRunning ? .transferring : .paused))
            #expect(try rig.names() == ["file.bin.haulpart", "other"], "its bytes stay where they are")
            if isRunning { try await download.pause() }
            try await download.resume()
            #expect(try await download.result().path == rig.folder + "/other/file.bin")
            #expect(try rig.names() == ["other"])
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test func oneThatWaitsKeepsTheNameOfTheServer() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let running = try await rig.downloader.add(try rig.named("running", "slow"))
            await running.reaches(1000)
            let waiting = try await rig.downloader.download(rig.server.url("/fast/server.bin"), to: rig.folder)
            try await waiting.move(toFolder: rig.folder + "/other")
            try await running.cancel()
            #expect(try await waiting.result().path == rig.folder + "/other/server.bin")
            #expect(try rig.names() == ["other"])
        }
    }
}
