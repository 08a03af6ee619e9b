import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Renaming the file of a download.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RenameTests {
    @Test(arguments: [true, false])
    func renamesAFinishedFile(isNamed: Bool) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let request = try rig.named("a") { if !isNamed { $0.destination = .folder(path: rig.folder) } }
            let earlier = rig.downloader.events
            let download = try await rig.downloader.add(request)
            let first = try await download.result()
            // The result may be known before the listeners have the end.
            for await event in earlier { if case .ended = event { break } }
            let events = rig.downloader.events
            try await download.rename(to: "b c.bin")
            let path = rig.folder + "/b c.bin"
            #expect(try rig.holdsOnly(TestContent.small, named: "b c.bin"))
            #expect(download.snapshot.path == path)
            let result = try await download.result()
            #expect(result.path == path && result.alreadyExisted == first.alreadyExisted && result.bytes == first.bytes)
            #expect(try await download.fileState() == .unchanged)
            // Listeners get the new name, but no second end.
            _ = try await rig.downloader.add(try rig.named("last")).result()
            for await event in events {
                if case .ended(let snapshot, _) = event {
                    #expect(snapshot.id != download.id)
                    break
                }
                if case .changed(let snapshot) = event, snapshot.id == download.id { #expect(snapshot.path == path) }
            }
            // A file that is fetched again also gets the new name.
            try FileManager.default.removeItem(atPath: path)
            #expect(try await download.fetchAgain().result().path == path)
            try await rig.reopened { next async throws in
                #expect(try await next.find(id: download.id)?.result().path == path)
                #expect(try await next.add(try rig.named("a") { $0.destination = .file(path: path) }).id == download.id)
            }
        }
    }

    @Test func replacesNothing() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a") { $0.onConflict = .overwrite })
            _ = try await download.result()
            try rig.put("mine", at: rig.folder + "/b")
            #expect(await thrownCode { try await download.rename(to: "b") } == .fileExists)
            let paused = try await rig.downloader.add(try rig.named("c", "slow") { $0.onConflict = .overwrite })
            await paused.reaches(1000)
            #expect(await thrownCode { try await paused.rename(to: "b") } == .fileExists)
            #expect(await thrownCode { try await paused.rename(to: "a") } == .fileExists)
            #expect(await thrownCode { try await download.rename(to: "c") } == .inUse)
            #expect(try rig.text(at: rig.folder + "/b") == "mine")
            #expect(try await download.result().path == rig.folder + "/a")
            #expect(try await download.fileState() == .unchanged)
            try await download.rename(to: "a")
        }
    }

    @Test(arguments: ["", ".", "..", "a/b", "/a", "../a", "a\0b", "a.haulpart", "A.HaulPart"])
    func takesNoNameThatIsNone(_ name: String) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            _ = try await download.result()
            #expect(await thrownCode { try await download.rename(to: name) } == .invalidDestination)
            #expect(try rig.names() == ["a"])
        }
    }

    @Test func takesNoNameThatIsTooLong() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            _ = try await download.result()
            #expect(
                await thrownCode { try await download.rename(to: String(repeating: "ä", count: 124)) } == .nameTooLong
            )
            let longest = String(repeating: "ä", count: 123)
            try await download.rename(to: longest)
            #expect(try rig.names() == [longest])
        }
    }

    @Test func leavesAloneWhatIsNotTheFileAnyMore() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            _ = try await download.result()
            try FileManager.default.moveItem(atPath: rig.folder + "/a", toPath: rig.folder + "/elsewhere")
            let missing = await #expect(throws: DownloadError.self) { try await download.rename(to: "b") }
            #expect(missing?.code == .diskFailed)
            #expect(missing?.message == "\(rig.folder)/a does not exist.")
            try rig.put("mine", at: rig.folder + "/a")
            #expect(await thrownCode { try await download.rename(to: "b") } == .diskFailed)
            #expect(try rig.names() == ["a", "elsewhere"])
            #expect(try rig.text(at: rig.folder + "/a") == "mine")
            #expect(try await download.result().path == rig.folder + "/a")
        }
    }

    @Test func aFileThatWasChangedIsRenamedAsItIs() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            _ = try await download.result()
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: rig.folder + "/a"))
            try file.write(contentsOf: Data("mine".utf8))
            try file.close()
            try await download.rename(to: "b")
            #expect(try rig.names() == ["b"])
            #expect(try await download.fileState() == .changed)
        }
    }

    @Test(arguments: [true, false])
    func anUnfinishedOneEndsUnderTheName(isRunning: Bool) async throws {
        let content = TestContent.first
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let download = try await rig.downloader.add(
                try rig.request { $0.destination = .folder(path: rig.folder) }
            )
            await download.reaches(cut)
            if !isRunning { try await download.pause() }
            try await download.rename(to: "other.bin")
            #expect(download.snapshot.path == rig.folder + "/other.bin")
            #expect(download.snapshot.state == (isRunning ? .transferring : .paused))
            #expect(try rig.names() == ["file.bin.haulpart"], "its bytes stay where they are")
            if isRunning { try await download.pause() }
            try await download.resume()
            #expect(try await download.result().path == rig.folder + "/other.bin")
            #expect(try rig.holdsOnly(content, named: "other.bin"))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test func oneThatWaitsGetsTheNameAndNoneOfTheServers() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let running = try await rig.downloader.add(try rig.named("running", "slow"))
            await running.reaches(1000)
            let waiting = try await rig.downloader.download(rig.server.url("/fast/server.bin"), to: rig.folder)
            try await waiting.rename(to: "mine.bin")
            #expect(waiting.snapshot.path == rig.folder + "/mine.bin")
            try await running.cancel()
            #expect(try await waiting.result().path == rig.folder + "/mine.bin")
            #expect(try rig.names() == ["mine.bin"])
        }
    }

    @Test func oneThatFailedStaysFailed() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let failed = try await rig.downloader.add(try rig.named("a", "missing"))
            let error = await #expect(throws: DownloadError.self) { try await failed.result() }
            try await failed.rename(to: "b")
            #expect(failed.snapshot.state == .failed && failed.snapshot.path == rig.folder + "/b")
            #expect(await #expect(throws: DownloadError.self) { try await failed.result() } == error)
        }
    }

    @Test func theNameSurvivesARestart() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let paused = try await rig.downloader.add(try rig.named("a", "slow"))
            await paused.reaches(1000)
            try await paused.pause()
            try await paused.rename(to: "b")
            try await rig.reopened { next async throws in
                #expect(try await next.find(id: paused.id)?.snapshot.path == rig.folder + "/b")
            }
        }
    }
}
