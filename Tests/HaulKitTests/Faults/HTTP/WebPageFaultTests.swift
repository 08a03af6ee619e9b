import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 13 of `docs/practice-list.md`: a captive portal or a login page instead of the file.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct WebPageFaultTests {
    private let content = TestContent.first

    @Test(arguments: [[], [("ETag", "\"portal\"")], [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]])
    func keepsTheBytesWhenAPageComesOnResume(_ headers: [(String, String)]) async throws {
        let resource = content.resource()
        let handler = resource.silentFirst { request in
            request.requestNumber < 4 ? .page(headers: headers) : resource.reply(to: request)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil] + Array(repeating: "bytes=\(cut)-", count: 3))
        }
    }

    @Test func keepsTheBytesForALaterRunWhenThePageDoesNotGoAway() async throws {
        let resource = content.resource()
        let handler = resource.silentFirst { request in
            request["X-Logged-In"] == nil ? .page() : resource.reply(to: request)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .unexpectedWebPage)
            #expect(try rig.names() == ["file.bin.haulpart"])
            #expect(try Array(rig.part().prefix(Int(cut))) == content.bytes(0..<cut))

            try await rig.reopened { next async throws in
                let request = try rig.request { $0.headers = [HeaderField("X-Logged-In: yes")].compactMap { $0 } }
                _ = try await next.add(request).result()
            }
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.last == "bytes=\(cut)-")
        }
    }

    @Test func keepsTheBytesWhenTheLoginPageComesByRedirect() async throws {
        let resource = content.resource()
        let handler = resource.silentFirst { request in
            switch request.requestNumber {
            case 2: .redirect(to: "/login")
            case 3: .page()
            default: resource.reply(to: request)
            }
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.last == "bytes=\(cut)-")
        }
    }

    @Test(arguments: ["/login.html", "/login", "/sso/start?back=file.zip"])
    func doesNotTakeALoginPageForTheFile(_ location: String) async throws {
        try await DownloaderRig.run(
            serving: { $0.path == "/file.zip" ? .redirect(to: location) : .page() }
        ) { rig async throws in
            #expect(try await rig.failure("/file.zip").code == .unexpectedWebPage)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func keepsTheBytesOfAFileWithoutValidatorsWhenAPageComes() async throws {
        let resource = content.resource(etag: nil)
        let handler = resource.silentFirst { $0.requestNumber == 2 ? .page() : resource.reply(to: $0) }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func loadsAPageWhereAPageWasAskedFor() async throws {
        let text = "<html>A manual.</html>"
        try await DownloaderRig.run(
            serving: { $0.path == "/manual.html" ? .redirect(to: "/v2/manual.html") : .page(text) }
        ) { rig in
            try await rig.download("/manual.html")
            #expect(try rig.text(at: rig.path) == text)
        }
    }

    @Test func resumesAPageThatIsTheFile() async throws {
        var page = content.resource()
        page.contentType = "text/html"
        try await DownloaderRig.run(serving: page.silentFirst()) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }
}
