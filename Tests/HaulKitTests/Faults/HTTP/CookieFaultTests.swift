import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Cookies of real downloads: the servers that get them, and their lifetime.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct CookieFaultTests {
    private let content = TestContent.first

    /// A share host that serves the file only with the cookie of the preceding page.
    private func shareHost(_ content: TestContent, then file: FileResource? = nil) -> DownloaderRig.Handler {
        let resource = file ?? content.resource()
        return { request in
            if request.path == "/file.bin" {
                return .empty(
                    302,
                    "Found",
                    headers: [("Location", "/real"), ("Set-Cookie", "ticket=t1; Path=/; HttpOnly")]
                )
            }
            return request["Cookie"] == "ticket=t1" ? resource.reply(to: request) : .empty(403, "Forbidden")
        }
    }

    @Test func sendsTheTargetWhatTheRedirectSet() async throws {
        try await DownloaderRig.run(serving: shareHost(content)) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.map { $0["Cookie"] } == [nil, "ticket=t1"])
        }
    }

    @Test func sharesThemAmongTheConnectionsOfADownload() async throws {
        let large = TestContent(seed: 3, count: 4_000_000)
        let (host, gathering) = (shareHost(large, then: large.resource()), Gathering(of: 2))
        try await DownloaderRig.run(
            configure: {
                $0.connections.maxPerDownload = 4
                $0.connections.initial = 4
            },
            serving: { $0.path == "/real" ? gathering.hold(host($0), to: $0) : host($0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(large))
            #expect(rig.server.requests.count { $0.path == "/real" } > 1)
        }
    }

    @Test func keepsThemThroughAnInterruption() async throws {
        let whole = content.resource()
        let cutShort = whole.silent(after: cut)
        let content = content
        try await DownloaderRig.run(serving: { request in
            if request.path == "/file.bin", request["Cookie"] == nil {
                return .empty(302, "Found", headers: [("Location", "/real"), ("Set-Cookie", "a=b; Path=/")])
            }
            guard request["Cookie"] == "a=b" else { return .empty(403, "Forbidden") }
            return (request.requestNumber == 2 ? cutShort : whole).reply(to: request)
        }) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func takesThemToNoOtherOriginAndToNoOtherDownload() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            others: [{ resource.reply(to: $0) }],
            serving: { _, others in
                let target = others[0].url("/file.bin")
                return .empty(
                    302,
                    "Found",
                    headers: [("Location", target), ("Set-Cookie", "a=b; Path=/; Domain=127.0.0.1")]
                )
            }
        ) { rig in
            try await rig.download()
            try await rig.download("/second") { $0.destination = .file(path: rig.folder + "/second") }
            #expect(rig.others[0].requests.allSatisfy { $0["Cookie"] == nil })
            #expect(rig.server.requests.allSatisfy { $0["Cookie"] == nil })
            #expect(rig.downloader.cookies.isEmpty)
        }
    }

    @Test func putsThemBesideTheUsersOwn() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: { request in
            request.path == "/file.bin"
                ? .empty(302, "Found", headers: [("Location", "/x"), ("Set-Cookie", "b=2"), ("Set-Cookie", "a=3")])
                : resource.reply(to: request)
        }) { rig in
            let own = try #require(HeaderField("Cookie", "a=1"))
            try await rig.download { $0.headers = [own] }
            #expect(rig.server.requests.map { $0["Cookie"] } == ["a=1", "a=1; b=2"])
        }
    }

    @Test func beginsWithThoseOfAFileAndCollectsWhatIsSet() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: {
                $0.network.cookies = Cookies(netscape: "127.0.0.1\tFALSE\t/\tFALSE\t0\tlogin\tyes\n")
                $0.network.collectsCookies = true
            },
            serving: { request in
                var reply = resource
                reply.extraHeaders = [("Set-Cookie", "seen=\(request.requestNumber); Path=/")]
                return reply.reply(to: request)
            }
        ) { rig in
            try await rig.download()
            #expect(rig.server.requests.map { $0["Cookie"] } == ["login=yes"])
            let text = rig.downloader.cookies.netscape()
            #expect(text.contains("\tlogin\tyes\n") && text.contains("\tseen\t1\n"))
        }
    }
}
