import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Links that the application replaces by itself, in any state of the download.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ReplaceSourceTests {
    private let content = TestContent.first

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test func carriesOnAndUsesTheNewOneForWhatFollows() async throws {
        let resource = content.resource()
        let replacements = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.share(3) },
            serving: { request in
                let reply = resource.reply(to: request)
                return request.path == "/new" ? reply : reply.held(after: 8000) { replacements.value > 0 }
            }
        ) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(20_000)
            try await download.replaceSource(DownloadSource(try url(rig.server.url("/new"))))
            #expect(download.snapshot.url.path == "/new")
            replacements.next()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1)
        }
    }

    @Test func getsADownloadGoingWhoseServerHasGoneQuiet() async throws {
        let resource = content.resource()
        let handler = resource.silentFirst { $0.path == "/new" ? resource.reply(to: $0) : .empty(404, "Not Found") }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            // Longer than `Transfer.longestLull`, after which a silent connection is dropped for a new link.
            try await Task.sleep(for: .milliseconds(1200))
            try await download.replaceSource(DownloadSource(try url(rig.server.url("/new"))))
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            // The URL has another path, so bytes are requested again and compared.
            #expect(rig.hasComparedBlocks(before: cut))
        }
    }

    @Test(arguments: ["/new", "/file.bin?signature=2"])
    func goesOnFromThereWhenResumed(_ target: String) async throws {
        let resource = content.resource()
        let handler = resource.silentFirst { $0.target == target ? resource.reply(to: $0) : .empty(404, "Not Found") }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.replaceSource(DownloadSource(try url(rig.server.url(target))))
            #expect(download.snapshot.state == .paused)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            if target == "/new" {
                #expect(rig.hasComparedBlocks(before: cut))
            } else {
                #expect(rig.ranges == [nil, "bytes=\(cut)-"])
            }
        }
    }

    @Test func staysFailedUntilItIsResumed() async throws {
        let resource = content.resource()
        let handler = resource.silentFirst {
            $0.path == "/new" ? resource.reply(to: $0) : .empty(410, "Gone")
        }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.resume()
            await #expect(throws: DownloadError.self) { try await download.result() }
            try await download.pause()
            try await download.replaceSource(DownloadSource(try url(rig.server.url("/new"))))
            #expect(download.snapshot.state == .failed)
            #expect(rig.server.requests.count == 2)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1)
        }
    }

    @Test func isUsedByOneThatWaits() async throws {
        let resource = content.resource()
        let handler: DownloaderRig.Handler = { request in
            switch request.path {
            case "/slow": resource.silent(after: cut).reply(to: request)
            case "/new": resource.reply(to: request)
            default: .empty(404, "Not Found")
            }
        }
        try await DownloaderRig.run(configure: { $0.queue.maxConcurrentDownloads = 1 }, serving: handler) { rig in
            let slow = try await rig.downloader.add(
                try rig.request("/slow") { $0.destination = .file(path: rig.folder + "/slow") }
            )
            await slow.reaches(cut)
            let waiting = try await rig.downloader.add(try rig.request("/old"))
            try await waiting.replaceSource(DownloadSource(try url(rig.server.url("/new"))))
            #expect(waiting.snapshot.state == .queued)
            try await slow.cancel()
            _ = try await waiting.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func isRememberedByTheNextProcess() async throws {
        let resource = content.resource()
        let handler = resource.silentFirst { $0.path == "/new" ? resource.reply(to: $0) : .empty(404, "Not Found") }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.replaceSource(DownloadSource(try url(rig.server.url("/new"))))
            try await rig.reopened { next async throws in
                // The request still has its original URL.
                _ = try await next.add(try rig.request()).result()
                #expect(try rig.holdsOnly(content))
                #expect(rig.hasComparedBlocks(before: cut))
            }
        }
    }

    @Test func isRefusedForWhatIsCompleteAndForWhatIsNoURL() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let download = try await rig.downloader.add(try rig.request())
            _ = try await download.result()
            let source = DownloadSource(try url(rig.server.url("/new")))
            let late = await #expect(throws: DownloadError.self) { try await download.replaceSource(source) }
            #expect(late?.code == .fileExists)
            let odd = await #expect(throws: DownloadError.self) {
                try await download.replaceSource(DownloadSource(URL(fileURLWithPath: "/a")))
            }
            #expect(odd?.code == .invalidURL)
        }
    }

    // MARK: Header fields

    /// Header fields for one origin are not sent to another, unless the application asks for it.
    @Test func sendsHeadersToAnotherOriginOnlyIfToldTo() async throws {
        let resource = content.resource()
        let handler = resource.silentFirst { resource.reply(to: $0) }
        try await DownloaderRig.run(others: [{ resource.reply(to: $0) }], serving: { request, _ in handler(request) }) {
            rig in
            let other = rig.others[0]
            let secret = try #require(HeaderField("X-Secret", "1"))
            let download = try await rig.paused(try rig.request { $0.headers = [secret] }, at: cut)
            try await download.replaceSource(DownloadSource(try url(rig.server.url("/file.bin?s=2"))))
            #expect(rig.server.requests.allSatisfy { $0["X-Secret"] == "1" })
            try await download.replaceSource(DownloadSource(try url(other.url("/a"))))
            try await download.resume()
            _ = try await download.result()
            #expect(!other.requests.isEmpty && other.requests.allSatisfy { $0["X-Secret"] == nil })
        }
    }

    @Test func keepsToTheHeadersThatTheApplicationNames() throws {
        let (asked, named) = (HeaderField("A", "1"), HeaderField("B", "2"))
        let (mine, theirs) = (try #require(asked), try #require(named))
        var request = DownloadRequest(try url("https://a.example/f"), to: .folder(path: "/f"))
        request.headers = [mine]
        var record = DownloadRecord(DownloadID(), request, createdAt: Date())
        #expect(record.headers == [mine])
        record.take(DownloadSource(try url("https://a.example/f?s=2")), now: Date())
        #expect(record.headers == [mine])
        record.take(DownloadSource(try url("https://b.example/f")), now: Date())
        #expect(record.headers.isEmpty)
        record.take(DownloadSource(try url("https://c.example/f"), headers: [theirs]), now: Date())
        #expect(record.headers == [theirs])
        record.take(DownloadSource(try url("https://c.example/g")), now: Date())
        #expect(record.headers == [theirs])
        record.take(DownloadSource(try url("http://c.example/g")), now: Date())
        #expect(record.headers.isEmpty)
        // Back at the first origin.
        record.take(DownloadSource(try url("https://a.example/g")), now: Date())
        #expect(record.headers == [mine])
        record.take(DownloadSource(try url("https://a.example/g"), headers: []), now: Date())
        #expect(record.headers.isEmpty)

        var unknown = DownloadRequest(key: "lesson", to: .folder(path: "/f"))
        unknown.headers = [mine]
        record = DownloadRecord(DownloadID(), unknown, createdAt: Date())
        record.take(DownloadSource(try url("https://a.example/f")), now: Date())
        #expect(record.headers == [mine])
        record.take(DownloadSource(try url("https://b.example/f")), now: Date())
        #expect(record.headers.isEmpty)
    }
}
