import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Repairs that are interrupted or cannot begin.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RepairInterruptedTests {
    private static let piece: Int64 = 64 << 10
    private let content = TestContent(seed: 1, count: 1_000_000)

    private func request(_ rig: DownloaderRig) throws -> DownloadRequest {
        try rig.request { request in
            request.pieces = content.pieces(Self.piece)
            request.size = content.count
        }
    }

    /// Writes the file with every second piece wrong.
    private func putHalf(_ rig: DownloaderRig) throws {
        var bytes = content.bytes(0..<content.count)
        for start in stride(from: 0, to: bytes.count, by: 2 * Int(Self.piece)) { bytes[start] ^= 1 }
        try Data(bytes).write(to: URL(fileURLWithPath: rig.path))
    }

    private func fetching(_ downloader: Downloader, _ rig: DownloaderRig, _ request: DownloadRequest?) async throws
        -> Download
    {
        guard case .fetching(let download, _) = try await downloader.repair(rig.path, from: request) else {
            throw DownloadError(.internalFault, "nothing to do")
        }
        return download
    }

    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func keepsTheRecordOfTheKeyWhereTheCopyFails() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try SystemCommand.run("mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", rig.folder)
            defer { try? SystemCommand.run("umount", "-l", rig.folder) }
            var wish = try request(rig)
            wish.key = "film"
            _ = try await rig.downloader.add(wish).result()
            try putHalf(rig)
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.repair(rig.path, from: wish)
            }
            #expect(error?.code == .diskFull)
            #expect(try rig.names() == ["file.bin"])
            let kept = try #require(try await rig.downloader.find(key: "film"))
            #expect(kept.snapshot.state == .completed)
        }
    }

    /// Begins to repair the file, interrupts the repair after some bytes by a shutdown, and calls `test`.
    private func interrupted(_ test: (DownloaderRig, Downloader) async throws -> Void) async throws {
        let whole = content.resource()
        let part = whole.neverComplete(after: 45_000)
        let shutDowns = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { shutDowns.value == 0 ? part($0) : whole.reply(to: $0) }
        ) { rig in
            try putHalf(rig)
            let download = try await fetching(rig.downloader, rig, try request(rig))
            let here = content.count / 2
            await download.reaches(here + 40_000)
            await rig.downloader.shutDown()
            shutDowns.next()
            #expect(try rig.names() == ["file.bin", "file.bin.haulpart"])
            try await rig.another { second async throws in
                try await test(rig, second)
            }
            #expect(try rig.holdsOnly(content))
            // The right half is never requested, neither before the interruption nor after it.
            for request in rig.server.requests {
                let range = try #require(request.range)
                let last = try #require(range.last)
                let pieces = range.first / Self.piece...last / Self.piece
                #expect(pieces.allSatisfy { $0.isMultiple(of: 2) }, "\(range)")
            }
        }
    }

    /// The repaired copy replaces the file in the state that it has when the repair is requested again.
    @Test func goesOnAfterTheDamagedFileWasTouched() async throws {
        try await interrupted { rig, second in
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
                ofItemAtPath: rig.path
            )
            _ = try await fetching(second, rig, try request(rig)).result()
        }
    }

    @Test func goesOnByTheSameCall() async throws {
        try await interrupted { rig, second in
            _ = try await fetching(second, rig, try request(rig)).result()
        }
    }

    @Test func goesOnByAddingTheDownload() async throws {
        try await interrupted { rig, second in
            _ = try await second.add(try request(rig)).result()
        }
    }

    @Test func goesOnWithoutBeingToldAgainWhatItMustBe() async throws {
        try await interrupted { rig, second in
            _ = try await fetching(second, rig, nil).result()
        }
    }

    @Test func knowsThePiecesOfAFileThatItDownloaded() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try await rig.download(try request(rig))
            let before = rig.server.bodyBytesSent
            try putHalf(rig)
            _ = try await fetching(rig.downloader, rig, nil).result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.bodyBytesSent - before < content.count * 3 / 4)
        }
    }

    @Test func saysThatItKnowsNoPiecesOfAFileThatItNeverSaw() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            let error = await #expect(throws: DownloadError.self) { try await rig.downloader.repair(rig.path) }
            #expect(error?.code == .invalidMetalink)
            #expect(try rig.text(at: rig.path) == "mine")
        }
    }

    @Test func saysThatItKnowsNoPiecesOfAFileThatCameWithoutThem() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await rig.download()
            let error = await #expect(throws: DownloadError.self) { try await rig.downloader.repair(rig.path) }
            #expect(error?.code == .invalidMetalink)
            #expect(try rig.holdsOnly(content))
        }
    }

    // MARK: What is not ours to touch

    @Test func refusesASymbolicLink() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let secret = rig.root + "/secret"
            try rig.put("mine", at: secret)
            try FileManager.default.createSymbolicLink(atPath: rig.path, withDestinationPath: secret)
            let wish = try request(rig)
            await #expect(throws: DownloadError.self) { try await rig.downloader.repair(rig.path, from: wish) }
            #expect(try rig.text(at: secret) == "mine")
            #expect(try rig.names() == ["file.bin"])
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func refusesAFolder() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try FileManager.default.createDirectory(atPath: rig.path, withIntermediateDirectories: true)
            let wish = try request(rig)
            await #expect(throws: DownloadError.self) { try await rig.downloader.repair(rig.path, from: wish) }
            #expect(try rig.names() == ["file.bin"])
        }
    }

    @Test func refusesAFileThatSomebodyRepairsAlready() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try putHalf(rig)
            let held = try PosixDisk().open(rig.path)
            #expect(try held.lock())
            let wish = try request(rig)
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.repair(rig.path, from: wish)
            }
            #expect(error?.code == .inUse)
            #expect(try rig.names() == ["file.bin"])
            withExtendedLifetime(held) {}
        }
    }

    @Test func leavesAPartialFileInTheWayAlone() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try putHalf(rig)
            try rig.put("mine", at: rig.path + ".haulpart")
            let wish = try request(rig)
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.repair(rig.path, from: wish)
            }
            #expect(error?.code == .fileExists)
            #expect(try rig.text(at: rig.path + ".haulpart") == "mine")
            #expect(try rig.names() == ["file.bin", "file.bin.haulpart"])
        }
    }
}
