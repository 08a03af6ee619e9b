import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The target in the request line, for all spellings by users and servers.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RequestTargetFaultTests {
    private let content = TestContent(seed: 8, count: 20_000)

    /// Returns the targets of all requests for `text`, which is appended to the server's address.
    private func targets(
        of text: String,
        redirecting location: String? = nil,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> [String] {
        let resource = content.resource()
        var targets: [String] = []
        try await DownloaderRig.run(
            serving: { request in
                if let location, request.requestNumber == 1 { return .redirect(to: location) }
                return resource.reply(to: request)
            }
        ) { rig in
            var request = try DownloadRequest(rig.server.url("") + text, to: .file(path: rig.path))
            change(&request)
            try await rig.download(request)
            #expect(try rig.holdsOnly(content))
            targets = rig.server.requests.map(\.target)
        }
        return targets
    }

    @Test(arguments: [
        ("/dir/caf%E9.zip", "/dir/caf%E9.zip"), ("/a%20b c.zip", "/a%20b%20c.zip"),
        ("/q?x={1}|2&y=%20", "/q?x={1}|2&y=%20"),
        ("/ü", "/%C3%BC"), ("/%FF%00%2F;p=1", "/%FF%00%2F;p=1"), ("", "/"), ("?x", "/?x"), ("/?", "/?"),
        ("//a//b", "//a//b"),
        ("/a/../b/./c#f", "/b/c"), ("/100%", "/100%"),
    ])
    func asksForTheBytesAsTheyStand(_ text: String, _ target: String) async throws {
        #expect(try await targets(of: text) == [target])
    }

    @Test(arguments: [
        ("/dir/caf%E9.zip", "/dir/caf%E9.zip"), ("a%20b c", "/d/a%20b%20c"), ("ü?{}|%20", "/d/%C3%BC?{}|%20"),
        ("\\x\\y", "/x/y"),
        ("/100%", "/100%"), ("/a#b", "/a"),
    ])
    func followsALocationAsItStands(_ location: String, _ target: String) async throws {
        #expect(try await targets(of: "/d/e", redirecting: location) == ["/d/e", target])
    }

    @Test func asksAMirrorForTheBytesAsTheyStand() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { $0.path == "/gone" ? .empty(404, "Not Found") : resource.reply(to: $0) })
        {
            rig in
            var request = try rig.request("/gone")
            request.mirrors = [Metalink.Source(try SpelledURL(rig.server.url("/caf%E9 b?{}")))]
            try await rig.download(request)
            #expect(rig.server.requests.map(\.target) == ["/gone", "/caf%E9%20b?{}"])
        }
    }

    @Test func goesOnAsItWasSpelledAfterARestart() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { resource.reply(to: $0) }) { rig in
            let request = try DownloadRequest(rig.server.url("/f?{}|"), to: .file(path: rig.path))
            let record = DownloadRecord(DownloadID(), request, createdAt: Date())
            let json = try JSONEncoder.keepingSecrets().encode(record.request)
            try await rig.download(try JSONDecoder().decode(DownloadRequest.self, from: json))
            #expect(rig.server.requests.map(\.target) == ["/f?{}|"])
        }
    }

    /// Earlier versions stored `/a%20b c` as Foundation spells it, `/a%2520b%20c`.
    @Test func findsTheDownloadOfAnEarlierSpelling() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            request.requestNumber == 1 ? .empty(404, "Not Found") : resource.reply(to: request)
        }) { rig in
            let text = rig.server.url("/a%20b c.zip")
            let before = try #require(URL(string: text))
            #expect(before.absoluteString.hasSuffix("/a%2520b%20c.zip"))
            let first = try await rig.downloader.add(DownloadRequest(before, to: .folder(path: rig.folder)))
            await #expect(throws: DownloadError.self) { try await first.result() }
            let second = try await rig.downloader.add(DownloadRequest(text, to: .folder(path: rig.folder)))
            #expect(second.id == first.id)
            #expect(try await second.result().path == rig.folder + "/a b c.zip")
            #expect(rig.server.requests.map(\.target) == ["/a%2520b%20c.zip", "/a%20b%20c.zip"])
        }
    }

    @Test func doesNotLetAFieldOfTheUserChooseTheTarget() async throws {
        let field = try #require(HeaderField("Haul-Request-Target: /other"))
        #expect(try await targets(of: "/file.bin") { $0.headers = [field] } == ["/file.bin"])
    }
}
