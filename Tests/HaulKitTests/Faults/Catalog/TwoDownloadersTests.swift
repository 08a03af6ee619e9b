import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 14 of `docs/practice-list.md`: two processes and one file. Two downloaders stand for the processes: they share
/// no relevant memory, and a file lock belongs to one open file description.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct TwoDownloadersTests {
    private let content = TestContent.first

    /// Calls `test` while the rig's downloader is in the middle of its file.
    private func meanwhile(
        _ request: (DownloaderRig) throws -> DownloadRequest,
        stateFolder: (DownloaderRig) -> String,
        _ test: (DownloaderRig, Downloader) async throws -> Void
    ) async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.downloader.add(try request(rig))
            await download.reaches(cut)
            try await rig.another(DownloaderRig.quick(stateFolder: stateFolder(rig))) { second async throws in
                try await test(rig, second)
            }
            #expect(download.snapshot.state == .transferring)
            try await download.pause()
            try await download.resume()
            _ = try await download.result()
            #expect(try content.matches(fileAt: rig.folder + "/file.bin"))
        }
    }

    @Test(arguments: ["/state", "/other-state"])
    func refusesAFileThatAnotherProcessIsDownloading(_ state: String) async throws {
        try await meanwhile({ try $0.request() }, stateFolder: { $0.root + state }) { rig, second in
            let download = try await second.add(try rig.request())
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .inUse)
            #expect(try rig.names() == ["file.bin.haulpart"])
        }
    }

    @Test func refusesToOverwriteAFileThatAnotherProcessIsDownloading() async throws {
        try await meanwhile({ try $0.request() }, stateFolder: { $0.root + "/other-state" }) { rig, second in
            let download = try await second.add(try rig.request { $0.onConflict = .overwrite })
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .inUse)
        }
    }

    @Test func cancellingTheSecondLeavesTheFirstAlone() async throws {
        try await meanwhile({ try $0.request() }, stateFolder: { $0.root + "/state" }) { rig, second in
            let download = try await second.add(try rig.request())
            _ = await #expect(throws: DownloadError.self) { try await download.result() }
            try await download.cancel()
            #expect(try rig.names() == ["file.bin.haulpart"])
        }
    }

    @Test func takesAnotherNameInAFolder() async throws {
        let folder: (DownloaderRig) throws -> DownloadRequest = { rig in
            try rig.request { $0.destination = .folder(path: rig.folder) }
        }
        try await meanwhile(folder, stateFolder: { $0.root + "/other-state" }) { rig, second in
            let done = try await second.add(try folder(rig)).result()
            #expect(done.path == rig.folder + "/file (1).bin")
            #expect(try content.matches(fileAt: done.path))
        }
    }

    @Test func leavesAForeignPartialFileAlone() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path + ".haulpart")
            #expect(try await rig.failure().code == .fileExists)
            #expect(try rig.names() == ["file.bin.haulpart"])
            #expect(try rig.text(at: rig.path + ".haulpart") == "mine")
        }
    }

    @Test func startsAnewWhenThePartialFileIsAnotherOneByNow() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.paused(try rig.request { $0.onConflict = .overwrite }, at: cut)
            // Creates the new file while the old one still exists, so that the inodes differ.
            try rig.put(String(repeating: "x", count: 400_000), at: rig.root + "/other")
            #expect(rename(rig.root + "/other", rig.path + ".haulpart") == 0)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, nil])
        }
    }

    @Test func startsAnewWhenAnotherFileGotTheInodeOfThePartialFile() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.paused(try rig.request { $0.onConflict = .overwrite }, at: cut)
            try FileManager.default.removeItem(atPath: rig.path + ".haulpart")
            // ext4 usually gives a freed inode to the next file.
            try rig.put(String(repeating: "x", count: 400_000), at: rig.path + ".haulpart")
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func startsAnewWhenThePartialFileWasCut() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            #expect(truncate(rig.path + ".haulpart", 100_000) == 0)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, nil])
        }
    }

    @Test func leavesADownloadThatItLetGoOfToWhoeverTookItUp() async throws {
        let (nothing, some) = (content.resource().silent(after: 0), content.resource().silent(after: cut))
        try await DownloaderRig.run(serving: { $0.requestNumber == 1 ? nothing.reply(to: $0) : some.reply(to: $0) }) {
            rig in
            let first = try await rig.downloader.add(try rig.request())
            while rig.server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            try await first.pause()
            try await rig.another { second async throws in
                let taken = try await second.add(try rig.request())
                #expect(taken.id == first.id)
                await taken.reaches(cut)
                try await first.resume()
                let error = await #expect(throws: DownloadError.self) { try await first.result() }
                #expect(error?.code == .inUse)
                try await first.cancel()
                let saved = try #require(try await second.store.find(id: taken.id.description))
                let owner = second.store.owner.number
                #expect(saved.record.ownerNumber == owner)
                #expect(saved.record.partPath == rig.path + ".haulpart")
                #expect(try rig.names() == ["file.bin.haulpart"])
            }
        }
    }

    @Test func twoDownloadersOfOneStoreLoadDifferentFiles() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await rig.another { second async throws in
                async let one = rig.download("/1") { $0.destination = .folder(path: rig.folder) }
                async let two = second.add(rig.request("/2") { $0.destination = .folder(path: rig.folder) }).result()
                #expect(try await [one.bytes, two.bytes] == [content.count, content.count])
            }
            #expect(try rig.names() == ["1", "2"])
        }
    }

    @Test func anExclusiveDownloaderRefusesASecondOne() async throws {
        try await DownloaderRig.run(
            configure: { $0.storage.restoration = .everything },
            serving: { [resource = content.resource()] in resource.reply(to: $0) }
        ) { rig async throws in
            let error = await #expect(throws: DownloadError.self) { try await Downloader(rig.configuration) }
            #expect(error?.code == .inUse)
        }
    }
}
