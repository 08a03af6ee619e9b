import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Subfolders named by a Metalink never lead out of the folder through a symbolic link.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct FolderWalkTests {
    private let content = TestContent(seed: 18, count: 30_000)

    private func request(_ name: String, _ rig: DownloaderRig) throws -> DownloadRequest {
        let source = "<url>\(rig.server.url("/file.bin"))</url>"
        let text =
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"\(name)\">\(source)</file></metalink>"
        return DownloadRequest(try #require(try Metalink(Data(text.utf8)).files.first), into: rig.folder)
    }

    private func outside(_ rig: DownloaderRig) throws -> String {
        let folder = rig.root + "/outside"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    @Test func makesTheSubfolders() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let done = try await rig.download(try request("a/b/file", rig))
            #expect(done.path == rig.folder + "/a/b/file")
            #expect(try content.matches(fileAt: done.path))
        }
    }

    @Test(arguments: ["a/file", "a/b/file", "x/a/file"])
    func writesThroughNoLinkAmongTheSubfolders(_ name: String) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let outside = try outside(rig)
            let place = name.hasPrefix("x") ? rig.folder + "/x" : rig.folder
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: place + "/a", withDestinationPath: outside)
            let error = try await rig.failure(of: try request(name, rig))
            #expect(error.code == .diskFailed)
            #expect(error.message.contains("symbolic link"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
        }
    }

    @Test(arguments: [".", "Downloads", "./a/../b", "/absolute"])
    func knowsTheFolderHoweverItWasNamed(_ folder: String) throws {
        let source = Metalink.Source(try SpelledURL("https://a.example/file"))
        let request = DownloadRequest(Metalink.File(name: "sub/file", sources: [source]), into: folder)
        let checked = try Downloader.checked(request)
        let root = try #require(checked.root)
        #expect(root.hasPrefix("/"))
        #expect(checked.destination == .file(path: root + "/sub/file"))
    }

    @Test func publishesThroughNoLinkThatCameMeanwhile() async throws {
        var stalling = content.resource()
        (stalling.bodyLimit, stalling.ending) = (20_000, .stall)
        let (first, whole) = (stalling, content.resource())
        try await DownloaderRig.run(serving: { ($0.requestNumber == 1 ? first : whole).reply(to: $0) }) { rig in
            let outside = try outside(rig)
            let download = try await rig.paused(try request("a/file", rig), at: 20_000)
            try FileManager.default.moveItem(atPath: rig.folder + "/a", toPath: outside + "/moved")
            try FileManager.default.createSymbolicLink(
                atPath: rig.folder + "/a",
                withDestinationPath: outside + "/moved"
            )
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.message.contains("symbolic link") == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside + "/moved") == ["file.haulpart"])
        }
    }

    @Test func followsLinksThatTheUserNames() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let outside = try outside(rig)
            try FileManager.default.createSymbolicLink(atPath: rig.root + "/link", withDestinationPath: outside)
            var request = try request("a/file", rig)
            request.destination = .file(path: rig.root + "/link/b/file")
            let done = try await rig.download(request)
            #expect(done.path == rig.root + "/link/b/file")
            let source = Metalink.Source(try SpelledURL(rig.server.url("/file.bin")))
            let file = Metalink.File(name: "sub/file", sources: [source])
            #expect(
                try await rig.download(DownloadRequest(file, into: rig.root + "/link")).path
                    == rig.root + "/link/sub/file"
            )
        }
    }
}
