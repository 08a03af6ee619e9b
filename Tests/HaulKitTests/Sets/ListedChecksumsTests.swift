import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Tests ``Downloader/checksums(_:headers:)``.
@Suite(.timeLimit(.minutes(60)))
struct ListedChecksumsTests {
    private static let content = TestContent(seed: 7, count: 100_000)
    private static let list = "\(content.digest(.sha256).hexadecimal)  sub/a.bin\n"

    private func run(_ list: String = Self.list, _ body: (DownloaderRig, ListedChecksums) async throws -> Void)
        async throws
    {
        let served = FileResource(list.utf8)
        try await DownloaderRig.run(
            serving: { request, _ in
                request.path == "/SHA256SUMS"
                    ? served.reply(to: request)
                    : FileResource(content: Self.content, etag: "\"v\"").reply(to: request)
            },
            { rig async throws in
                let url = try #require(URL(string: rig.server.url("/SHA256SUMS")))
                try await body(rig, try await rig.downloader.checksums(ChecksumListSource(url)))
            }
        )
    }

    private func request(_ rig: DownloaderRig, _ path: String, to name: String? = nil) throws -> DownloadRequest {
        let url = try #require(URL(string: rig.server.url(path)))
        return DownloadRequest(url, to: name.map { .file(path: "\(rig.folder)/\($0)") } ?? .folder(path: rig.folder))
    }

    @Test func provesADownloadByTheDigestOfTheList() async throws {
        try await run { rig, checksums in
            var request = try request(rig, "/pub/sub/a.bin")
            request.checksum = try checksums.checksum(of: request)
            let result = try await rig.downloader.add(request).result()
            #expect(result.proof == .digest)
            #expect(try Self.content.matches(fileAt: result.path))
        }
    }

    @Test func findsAFileByItsPathOnTheDisk() async throws {
        try await run { rig, checksums in
            let checksum = try checksums.checksum(of: request(rig, "/get?id=1", to: "a.bin"))
            #expect(checksum.digest == Self.content.digest(.sha256))
        }
    }

    @Test(arguments: ["/pub/b.bin", "/", "/a.bin.part"])
    func aFileThatTheListDoesNotNameIsNotProved(_ path: String) async throws {
        try await run { rig, checksums in
            let request = try request(rig, path)
            let error = #expect(throws: DownloadError.self) { try checksums.checksum(of: request) }
            #expect(error?.code == .unprovedSet)
        }
    }

    @Test func aListWithoutDigestsIsNone() async throws {
        let error = await #expect(throws: DownloadError.self) { try await run("nothing") { _, _ in } }
        #expect(error?.code == .invalidSet)
    }
}
