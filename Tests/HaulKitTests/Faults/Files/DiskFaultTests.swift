import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 15 of `docs/practice-list.md`: failures that a real disk can produce. The others are tested with a simulated
/// disk.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DiskFaultTests {
    private let content = TestContent.first

    @Test func refusesAFileThatTheDiskHasNoSpaceFor() async throws {
        let huge = TestContent(seed: 1, count: 1 << 58)
        try await DownloaderRig.run(serving: huge.resource().silent(after: 100_000)) { rig in
            let error = try await rig.failure()
            #expect(error.code == .diskFull)
            #expect(rig.server.requests.count == 1)
            #expect(!FileManager.default.fileExists(atPath: rig.path))
        }
    }

    @Test func refusesALengthBeyondAnyDisk() async throws {
        let huge = TestContent(seed: 1, count: .max)
        try await DownloaderRig.run(serving: huge.resource().silent(after: 100_000)) { rig async throws in
            #expect([.diskFull, .diskFailed].contains(try await rig.failure().code))
        }
    }

    @Test func saysHowMuchSpaceThereIsWhereNothingIsYet() throws {
        let folder = try TemporaryFolder()
        let here = try #require(try PosixDisk().freeSpace(at: folder.path))
        #expect(try PosixDisk().freeSpace(near: folder("not/there"))?.volume == here.volume)
        #expect(here.free > 0 && here.total >= here.free)
        let error = #expect(throws: DiskError.self) { try PosixDisk().freeSpace(at: folder("not")) }
        #expect(error?.kind == .notFound)
    }

    @Test func saysThatANameIsTooLong() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let path = rig.folder + "/" + String(repeating: "n", count: 300)
            #expect(try await rig.failure { $0.destination = .file(path: path) }.code == .nameTooLong)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func saysThatAPartOfThePathIsNoFolder() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.folder + "/plain")
            let error = try await rig.failure { $0.destination = .file(path: rig.folder + "/plain/file.bin") }
            #expect(error.code == .diskFailed)
            #expect(try rig.text(at: rig.folder + "/plain") == "mine")
        }
    }

    @Test func makesTheFoldersOfThePath() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let path = rig.folder + "/new/and newer/file.bin"
            try await rig.download { $0.destination = .file(path: path) }
            #expect(try content.matches(fileAt: path))
        }
    }

    @Test func neverReplacesAFolder() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try FileManager.default.createDirectory(atPath: rig.path, withIntermediateDirectories: false)
            let error = try await rig.failure { $0.onConflict = .overwrite }
            #expect([.diskFailed, .fileExists].contains(error.code))
            #expect(try FileManager.default.contentsOfDirectory(atPath: rig.path).isEmpty)
        }
    }

    @Test(arguments: [TestContent.first, TestContent(seed: 2, count: 1000)])
    func neverReplacesAFIFO(content: TestContent) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            #expect(mkfifo(rig.path, 0o600) == 0)
            let error = try await rig.failure { $0.onConflict = .overwrite }
            #expect([.diskFailed, .fileExists].contains(error.code))
            var status = stat()
            #expect(lstat(rig.path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        }
    }

    /// Mounts a disk of one megabyte, which needs root.
    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func keepsWhatArrivedWhenTheDiskFillsUp() async throws {
        let content = TestContent(seed: 1, count: 1_500_000)
        try await DownloaderRig.run(
            configure: { $0.storage.waitsForSpace = false },
            serving: { request in
                request.range == nil
                    ? .chunked(content, headers: [("ETag", "\"v1\"")]) : content.resource().reply(to: request)
            }
        ) { rig in
            try SystemCommand.run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", rig.folder)
            var isMounted = true
            defer { if isMounted { try? SystemCommand.run("umount", "-l", rig.folder) } }
            let download = try await rig.downloader.add(try rig.request())
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .diskFull)
            let kept = download.snapshot.receivedBytes
            #expect(kept > 0)
            #expect(try Array(rig.part().prefix(Int(kept))) == content.bytes(0..<kept))

            try SystemCommand.run("mount", "-o", "remount,size=4m", rig.folder)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(kept)-"])
            try SystemCommand.run("umount", "-l", rig.folder)
            isMounted = false
        }
    }
    /// The same kind of disk, with a download that waits until space is freed.
    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func waitsWhenTheDiskFillsUpAndResumesByItselfWhenThereIsSpace() async throws {
        let content = TestContent(seed: 1, count: 3_000_000)
        try await DownloaderRig.run(serving: { request in
            request.range == nil
                ? .chunked(content, headers: [("ETag", "\"v1\"")]) : content.resource().reply(to: request)
        }) { rig in
            try SystemCommand.run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", rig.folder)
            defer { try? SystemCommand.run("umount", "-l", rig.folder) }
            // Leaves space for six tenths of the file.
            let filler = [UInt8](repeating: 1, count: (4 << 20) - 1_800_000)
            try Data(filler).write(to: URL(fileURLWithPath: rig.folder + "/filler"))
            let download = try await rig.downloader.add(try rig.request())
            let log = StateLog(download)
            let held = await download.isHeld(for: .diskFull)
            #expect(held.receivedBytes > 0 && held.receivedBytes < 2_100_000)
            #expect(held.error?.code == .diskFull)
            try FileManager.default.removeItem(atPath: rig.folder + "/filler")
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(held.receivedBytes)-"])
            #expect(await log.all.pauses == (1, 1))
        }
    }

    /// The store is on the full disk too, so it may record nothing until there is space.
    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func goesOnWhereTheStoreIsOnTheFullDiskToo() async throws {
        let content = TestContent(seed: 1, count: 3_000_000)
        let isFull = Atomic(false)
        let root = try TemporaryFolder()
        try SystemCommand.run("mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", root.path)
        defer { try? SystemCommand.run("umount", "-l", root.path) }
        try await DownloaderRig.run(
            configure: { configuration in
                configuration.storage.stateFolder = root("state")
                configuration.storage.restoration = .everything
            },
            serving: { request in
                guard request.range == nil else { return content.resource().reply(to: request) }
                var reply = TestReply.chunked(content, headers: [("ETag", "\"v1\"")])
                // The rest comes only when the disk is full, so that the download is not complete before.
                reply.steps = [
                    reply.steps[0], .chunked(0..<300_000, of: content, terminated: false),
                    .waitUntil { isFull.load(ordering: .acquiring) },
                    .chunked(300_000..<content.count, of: content, terminated: true),
                ]
                return reply
            }
        ) { rig in
            let path = root("file.bin")
            let download = try await rig.downloader.add(try rig.request { $0.destination = .file(path: path) })
            let log = StateLog(download)
            await download.reaches(1)
            let filler = root("filler")
            try Data().write(to: URL(fileURLWithPath: filler))
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: filler))
            // Writes until the disk is full.
            while (try? handle.write(contentsOf: Data(repeating: 1, count: 4096))) != nil {}
            try handle.close()
            isFull.store(true, ordering: .releasing)
            await download.isHeld(for: .diskFull)
            try FileManager.default.removeItem(atPath: filler)
            _ = try await download.result()
            #expect(try content.matches(fileAt: path))
            let pauses = await log.all.pauses.begun
            #expect(pauses == 1)
        }
    }
}
