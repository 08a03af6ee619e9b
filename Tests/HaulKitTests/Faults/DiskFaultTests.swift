import Foundation
import HaulTesting
import Testing

@testable import HaulKit

/// Line 15, as far as a real disk can be made to fail. Its other half is told by a simulated disk.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct DiskFaultTests {
    private let content = TestContent.first

    @Test func refusesAFileThatTheDiskHasNoRoomFor() async throws {
        let huge = TestContent(seed: 1, count: 1 << 58)
        try await FaultRig.run(serving: huge.resource().silent(after: 100_000)) { rig in
            let error = try await rig.failure()
            #expect(error.code == .diskFull)
            #expect(rig.server.requests.count == 1)
            #expect(!FileManager.default.fileExists(atPath: rig.path))
        }
    }

    @Test func refusesALengthBeyondAnyDisk() async throws {
        let huge = TestContent(seed: 1, count: .max)
        try await FaultRig.run(serving: huge.resource().silent(after: 100_000)) { rig async throws in
            #expect([.diskFull, .diskFailed].contains(try await rig.failure().code))
        }
    }

    @Test func saysThatANameIsTooLong() async throws {
        try await FaultRig.run(serving: content.resource()) { rig async throws in
            let path = rig.folder + "/" + String(repeating: "n", count: 300)
            #expect(try await rig.failure { $0.destination = .file(path: path) }.code == .nameTooLong)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func saysThatAPartOfThePathIsNoFolder() async throws {
        try await FaultRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.folder + "/plain")
            let error = try await rig.failure { $0.destination = .file(path: rig.folder + "/plain/file.bin") }
            #expect(error.code == .diskFailed)
            #expect(try rig.text(at: rig.folder + "/plain") == "mine")
        }
    }

    @Test func makesTheFoldersOfThePath() async throws {
        try await FaultRig.run(serving: content.resource()) { rig in
            let path = rig.folder + "/new/and newer/file.bin"
            try await rig.download { $0.destination = .file(path: path) }
            #expect(try content.matches(fileAt: path))
        }
    }

    @Test func neverReplacesAFolder() async throws {
        try await FaultRig.run(serving: content.resource()) { rig in
            try FileManager.default.createDirectory(atPath: rig.path, withIntermediateDirectories: false)
            let error = try await rig.failure { $0.onConflict = .overwrite }
            #expect([.diskFailed, .fileExists].contains(error.code))
            #expect(try FileManager.default.contentsOfDirectory(atPath: rig.path).isEmpty)
        }
    }

    /// Mounts a disk of one megabyte, which only root may do.
    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func keepsWhatArrivedWhenTheDiskFillsUp() async throws {
        let content = TestContent(seed: 1, count: 1_500_000)
        try await FaultRig.run(serving: { request in
            request.range == nil
                ? .chunked(content, headers: [("ETag", "\"v1\"")]) : content.resource().reply(to: request)
        }) { rig in
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
}
