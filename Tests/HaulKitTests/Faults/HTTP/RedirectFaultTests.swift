import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 12 of `docs/practice-list.md`: redirects.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RedirectFaultTests {
    private let content = TestContent.first

    /// Redirects `/0` to `/1` and so on, and serves the file at `/<hops>`.
    private func chain(of hops: Int) -> DownloaderRig.Handler {
        let resource = content.resource()
        return { request in
            let step = Int(request.path.dropFirst()) ?? 0
            return step < hops ? .redirect(to: "/\(step + 1)") : resource.reply(to: request)
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func followsARedirect(_ status: Int) async throws {
        let resource = content.resource()
        let handler: DownloaderRig.Handler = { request in
            request.path == "/file.bin" ? .redirect(to: "/there", status: status) : resource.reply(to: request)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.map(\.method) == ["GET", "GET"])
        }
    }

    @Test func saysWhereRedirectsLed() async throws {
        try await DownloaderRig.run(
            others: [content.resource().silentFirst()],
            serving: { _, others in
                .redirect(to: others[0].url("/there/file.bin?token=s3cret").replacing("://", with: "://ada:pass@"))
            }
        ) { rig async throws in
            let there = rig.others[0].url("/there/file.bin?token=s3cret")
            let download = try await rig.paused(try rig.request(), at: cut)
            #expect(download.snapshot.finalURL?.absoluteString == there)
            #expect(download.snapshot.url.absoluteString == rig.server.url("/file.bin"))
            #expect(try await rig.downloader.list(.all).first?.finalURL?.absoluteString == there)
            try await download.resume()
            let file = try await download.result()
            #expect(file.finalURL?.absoluteString == there)
            for text in ["\(file)", "\(download.snapshot)", String(reflecting: DownloadOutcome.completed(file))] {
                #expect(!text.contains("s3cret"), "\(text)")
            }
            try await rig.reopened { next async throws in
                let again = try #require(try await next.find(id: download.id))
                #expect(again.snapshot.finalURL?.absoluteString == there)
                #expect(try await again.result().finalURL?.absoluteString == there)
            }
        }
    }

    @Test func saysNothingWhereNoRedirectLed() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            #expect(try await rig.download().finalURL == nil)
        }
    }

    @Test func namesTheHostThatARedirectLedTo() async throws {
        try await DownloaderRig.run(
            configure: { $0.retry.attempts = 1 },
            serving: { .redirect(to: "http://127.0.0.9:9/file.bin?after=\($0.requestNumber)") }
        ) { rig in
            let error = try await rig.failure()
            #expect(error.code == .connectionFailed)
            #expect(error.message.contains("127.0.0.9"), "\(error.message)")
        }
    }

    @Test func followsTenRedirects() async throws {
        try await DownloaderRig.run(serving: chain(of: 10)) { rig in
            try await rig.download("/0")
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 11)
        }
    }

    @Test func givesUpAfterTenRedirects() async throws {
        try await DownloaderRig.run(serving: chain(of: 11)) { rig async throws in
            #expect(try await rig.failure("/0").code == .tooManyRedirects)
            #expect(rig.server.requests.count == 11)
        }
    }

    @Test func followsARedirectToItselfThatIsServedInTheEnd() async throws {
        let resource = content.resource()
        // The server sheds load: it redirects twice to the same URL, then serves the file.
        try await DownloaderRig.run(
            serving: { $0.requestNumber < 3 ? .redirect(to: $0.target) : resource.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.map(\.path) == ["/file.bin", "/file.bin", "/file.bin"])
        }
    }

    @Test(arguments: [["/a": "/a"], ["/a": "/b", "/b": "/a"], ["/a": "/b", "/b": "/c", "/c": "/b"], ["/a": ""]])
    func seesALoop(_ way: [String: String]) async throws {
        try await DownloaderRig.run(serving: { .redirect(to: way[$0.path] ?? "/") }) { rig async throws in
            #expect([.tooManyRedirects, .malformedResponse].contains(try await rig.failure("/a").code))
            #expect(rig.server.requests.count <= RedirectPolicy.most + 1)
        }
    }

    @Test(arguments: [
        ("there", "/a/b/there"), ("../there", "/a/there"), ("/there", "/there"), ("./x/../there?q=1", "/a/b/there?q=1"),
        ("?q=2", "/a/b/file.bin?q=2"), ("there#fragment", "/a/b/there"), ("with%20space", "/a/b/with%20space"),
    ])
    func resolvesARelativeLocation(_ location: String, _ target: String) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            serving: { $0.requestNumber == 1 ? .redirect(to: location) : resource.reply(to: $0) }
        ) { rig in
            try await rig.download("/a/b/file.bin")
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.last?.target == target)
        }
    }

    @Test func followsALocationThatNamesNoScheme() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            guard request.path == "/file.bin", let host = request["Host"] else { return resource.reply(to: request) }
            return .redirect(to: "//\(host)/there")
        }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: [
        "ftp://127.0.0.1/file.bin", "file:///etc/passwd", "javascript:alert(1)", "http://", "data:,x", "http:///x",
        "http://[::1", "http://127.0.0.1:99999/x",
    ])
    func doesNotFollowALocationThatIsNoWebAddress(_ location: String) async throws {
        try await DownloaderRig.run(serving: { _ in .redirect(to: location) }) { rig in
            let error = try await rig.failure()
            #expect([.malformedResponse, .invalidURL, .connectionFailed].contains(error.code))
            #expect(rig.server.requests.count == 1)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func failsOnARedirectThatLeadsNowhere() async throws {
        try await DownloaderRig.run(serving: { _ in .empty(302, "Found") }) { rig in
            let error = try await rig.failure()
            #expect(error.code == .refusedByServer)
            #expect(error.status == 302)
        }
    }

    @Test func doesNotWaitForTheBodyOfARedirect() async throws {
        let resource = content.resource()
        let large = TestContent(seed: 7, count: 20_000_000)
        try await DownloaderRig.run(serving: { request in
            guard request.path == "/file.bin" else { return resource.reply(to: request) }
            let fields = [("Location", "/there"), ("Content-Length", "\(large.count)")]
            return TestReply([
                .head(status: 302, reason: "Found", headers: fields), .body(0..<large.count, of: large),
            ])
        }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: [
        [("Content-Length", "1000")], [("Transfer-Encoding", "chunked")], [], [("Connection", "close")],
    ])
    func doesNotWaitForABodyThatNeverEnds(_ fields: [(String, String)]) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            guard request.path == "/file.bin" else { return resource.reply(to: request) }
            let head = TestStep.head(status: 302, reason: "Found", headers: [("Location", "/there")] + fields)
            return TestReply([head, .raw([]), .stall])
        }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 2)
        }
    }

    @Test(arguments: [false, true])
    func followsARedirectWhoseBodyIsCut(_ isReset: Bool) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            guard request.path == "/file.bin" else { return resource.reply(to: request) }
            let fields = [("Location", "/there"), ("Content-Length", "1000")]
            return TestReply([
                .head(status: 302, reason: "Found", headers: fields), .raw(Array("moved".utf8)),
                isReset ? .reset : .close,
            ])
        }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.filter { $0.path == "/file.bin" }.count == 1)
        }
    }

    @Test func keepsTheConnectionOfARedirectWhoseBodyIsShort() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            guard request.path == "/file.bin" else { return resource.reply(to: request) }
            let fields = [("Location", "/there"), ("Content-Length", "5")]
            return TestReply([.head(status: 302, reason: "Found", headers: fields), .raw(Array("moved".utf8))])
        }) { rig in
            try await rig.download()
            #expect(Set(rig.server.requests.map(\.connectionNumber)).count == 1)
        }
    }

    @Test(arguments: [false, true])
    func followsFromSecureToPlainOnlyWhenAllowed(isAllowed: Bool) async throws {
        let resource = content.resource()
        let certificate = try TestCertificate.shared()
        try await DownloaderRig.run(
            tls: certificate,
            others: [{ resource.reply(to: $0) }],
            configure: { $0.network.certificateAuthorities = certificate.certificatePath },
            serving: { _, others in .redirect(to: others[0].url("/file.bin")) }
        ) { rig in
            let request = try rig.request { $0.allowsInsecureRedirects = isAllowed }
            if isAllowed {
                try await rig.download(request)
                #expect(try rig.holdsOnly(content))
            } else {
                #expect(try await rig.failure(of: request).code == .insecureRedirect)
                #expect(rig.others[0].requests.isEmpty)
                #expect(rig.server.requests.count == 1)
            }
        }
    }
}
