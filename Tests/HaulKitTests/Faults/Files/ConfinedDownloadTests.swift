import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Another program puts a symbolic link in place of the folder of a download. The folder is below a confined one.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ConfinedDownloadTests {
    private let content = TestContent(seed: 19, count: 30_000)

    private func run(
        stalling stalls: Bool = false,
        _ test: (DownloaderRig, DownloadRequest, _ outside: String) async throws -> Void
    ) async throws {
        let confined = ConfinedFolders([])
        var stalling = content.resource()
        (stalling.bodyLimit, stalling.ending) = (20_000, .stall)
        let (first, whole) = (stalling, content.resource())
        try await DownloaderRig.run(
            configure: { $0.storage.confined = confined },
            serving: { (stalls && $0.requestNumber == 1 ? first : whole).reply(to: $0) }
        ) { rig in
            confined.add([rig.folder])
            let outside = rig.root + "/outside"
            try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
            let request = DownloadRequest(
                try SpelledURL(rig.server.url("/f")),
                to: .file(path: rig.folder + "/a/f")
            )
            try await test(rig, request, outside)
        }
    }

    private func exchange(_ rig: DownloaderRig, _ outside: String) throws {
        try FileManager.default.moveItem(atPath: rig.folder + "/a", toPath: rig.folder + "/moved")
        try FileManager.default.createSymbolicLink(atPath: rig.folder + "/a", withDestinationPath: outside)
    }

    @Test func aPausedDownloadDoesNotFollowTheLink() async throws {
        try await run(stalling: true) { rig, request, outside in
            let download = try await rig.paused(request, at: 20_000)
            try exchange(rig, outside)
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(
                error?.message.contains(rig.folder + "/a is a symbolic link") == true,
                "\(String(describing: error))"
            )
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
        }
    }

    @Test func aFinishedFileIsNotMovedThroughTheLink() async throws {
        try await run { rig, request, outside in
            let download = try await rig.downloader.add(request)
            let done = try await download.result()
            try FileManager.default.createDirectory(atPath: rig.folder + "/b", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: rig.folder + "/b/c", withDestinationPath: outside)
            let error = await #expect(throws: DownloadError.self) {
                try await download.move(toFolder: rig.folder + "/b/c")
            }
            #expect(error?.message.contains("symbolic link") == true, "\(String(describing: error))")
            #expect(try content.matches(fileAt: done.path))
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
        }
    }

    @Test func aFileIsNotTakenFromBehindTheLink() async throws {
        try await run { rig, request, outside in
            let download = try await rig.downloader.add(request)
            _ = try await download.result()
            try exchange(rig, outside)
            try "theirs".write(toFile: outside + "/f", atomically: true, encoding: .utf8)
            await #expect(throws: DownloadError.self) { try await download.rename(to: "g") }
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside) == ["f"])
            #expect(try content.matches(fileAt: rig.folder + "/moved/f"))
        }
    }
}
