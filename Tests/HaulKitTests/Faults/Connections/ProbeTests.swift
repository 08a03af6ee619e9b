import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Description of a file by its server before the download.
@Suite(.timeLimit(.minutes(60)))
struct ProbeTests {
    private let content = TestContent(seed: 5, count: 300_000)

    private func resource() -> FileResource {
        FileResource(content: content, etag: "\"v1\"", lastModified: "Mon, 01 Jan 2024 00:00:00 GMT")
    }

    @Test func describesWhatIsServedInRanges() async throws {
        var resource = resource()
        resource.contentType = "Video/MP4; codecs=x"
        resource.extraHeaders = [("Content-Disposition", "attachment; filename=\"../film.mp4\"")]
        try await DownloaderRig.run(serving: resource) { rig in
            let found = try await rig.downloader.probe(rig.server.url("/a/b?c=1"))
            #expect(found.url.absoluteString == rig.server.url("/a/b?c=1"))
            #expect(found.fileName == "film.mp4")
            #expect(found.totalBytes == 300_000)
            #expect(found.contentType == "video/mp4")
            #expect(found.servesRanges)
            #expect(found.entityTag == "\"v1\"")
            #expect(found.lastModified == Date(timeIntervalSince1970: 1_704_067_200))
            #expect(rig.server.requests.map(\.method) == ["GET"])
            #expect(rig.ranges == ["bytes=0-0"])
            #expect(try await rig.downloader.list().isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: rig.folder).isEmpty)
        }
    }

    @Test func describesWhatIsServedAsAWholeWithoutReadingIt() async throws {
        let count = Int64(1) << 40
        let resource = FileResource(content: TestContent(seed: 1, count: count))
        try await DownloaderRig.run(
            serving: { request in
                var resource = resource
                resource.honoursRange = false
                return resource.reply(to: request)
            }
        ) { rig in
            let found = try await rig.downloader.probe(rig.server.url("/film.mp4"))
            #expect(found.totalBytes == count)
            #expect(!found.servesRanges)
            #expect(found.entityTag == nil && found.lastModified == nil)
            #expect(found.fileName == "film.mp4")
        }
    }

    @Test func describesAnEmptyFile() async throws {
        try await DownloaderRig.run(serving: FileResource([], etag: "\"0\"")) { rig in
            let found = try await rig.downloader.probe(rig.server.url("/empty.txt"))
            #expect(found.totalBytes == 0)
            #expect(found.servesRanges)
        }
    }

    @Test func saysNoLengthOfWhatIsCompressed() async throws {
        var resource = resource()
        resource.extraHeaders = [("Content-Encoding", "gzip")]
        try await DownloaderRig.run(serving: resource) { rig in
            let found = try await rig.downloader.probe(rig.server.url("/a.txt"))
            #expect(found.totalBytes == nil)
            #expect(!found.servesRanges)
        }
    }

    @Test func followsRedirectsAndKeepsSecretsAtHome() async throws {
        let resource = resource()
        try await DownloaderRig.run(
            others: [{ resource.reply(to: $0) }],
            serving: { _, others in .empty(302, "Found", headers: [("Location", others[0].url("/real.iso"))]) }
        ) { rig in
            let other = rig.others[0]
            var request = try rig.request("/start")
            request.headers = [try #require(HeaderField("Authorization", "Bearer secret"))]
            let found = try await rig.downloader.probe(request)
            #expect(found.url.absoluteString == other.url("/real.iso"))
            #expect(found.fileName == "real.iso")
            #expect(rig.server.requests.first?["Authorization"] == "Bearer secret")
            #expect(other.requests.first?["Authorization"] == nil)
            #expect(other.requests.first?["Range"] == "bytes=0-0")
        }
    }

    @Test(arguments: [404, 403, 503, 416]) func failsWithWhatTheServerAnswers(status: Int) async throws {
        try await DownloaderRig.run(serving: { _ in .empty(status, "No") }) { rig in
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.probe(rig.server.url("/a"))
            }
            #expect(error?.code == .refusedByServer)
            #expect(error?.status == status)
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test func doesNotTrustA206WithoutItsRange() async throws {
        let content = content
        try await DownloaderRig.run(serving: { _ in .partial([], body: 0..<1, of: content) }) { rig in
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.probe(rig.server.url("/a"))
            }
            #expect(error?.code == .malformedResponse)
        }
    }

    @Test func endsWhenItsTaskIsCancelledAndFreesTheConnection() async throws {
        try await DownloaderRig.run(
            configure: { $0.connections.maxPerHost = 1 },
            serving: { request in
                request.target == "/hang" ? TestReply([.stall]) : resource().reply(to: request)
            }
        ) { rig in
            let hanging = Task { () async throws(DownloadError) in
                try await rig.downloader.probe(rig.server.url("/hang"))
            }
            while rig.server.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            // The first probe waits for its answer and the others usually for a slot.
            let waiting = Task { () async throws(DownloadError) in
                try await rig.downloader.probe(rig.server.url("/a"))
            }
            let dropped = Task { () async throws(DownloadError) in
                try await rig.downloader.probe(rig.server.url("/b"))
            }
            dropped.cancel()
            await #expect(throws: Downloader.isProbeCancelled) { try await dropped.value }
            hanging.cancel()
            await #expect(throws: Downloader.isProbeCancelled) { try await hanging.value }
            #expect(try await waiting.value.totalBytes == 300_000)
            try await rig.download("/file.bin")
        }
    }

    @Test(arguments: [1, 4])
    func takesASlotWhileDownloadsFillTheHostAndOthersWait(connections: Int) async throws {
        let resource = resource()
        try await DownloaderRig.run(
            configure: {
                $0.connections.maxPerHost = connections
                $0.connections.maxPerDownload = connections
                $0.connections.initial = connections
                $0.connections.smallestPiece = 1024
            },
            serving: { request in
                var resource = resource
                if request.target.hasPrefix("/hang") { (resource.bodyLimit, resource.ending) = (10, .stall) }
                return resource.reply(to: request)
            }
        ) { rig in
            let requests = try ["/hang1", "/hang2"].map { target in
                try rig.request(target) { $0.destination = .file(path: rig.folder + target) }
            }
            let downloads = try await rig.downloader.add(requests).map { try $0.get() }
            while rig.server.requests.count < connections { try await Task.sleep(for: .milliseconds(2)) }
            let probes = (0..<6).map { number in
                Task { () async throws(DownloadError) in
                    try await rig.downloader.probe(rig.server.url("/\(number)"))
                }
            }
            for probe in probes { #expect(try await probe.value.totalBytes == 300_000) }
            for download in downloads { try await download.cancel() }
        }
    }

    @Test func failsAfterAShutDownAndDuringOne() async throws {
        try await DownloaderRig.run(configure: { $0.connections.maxPerHost = 1 }, serving: { _ in TestReply([.stall]) })
        {
            rig in
            let probes = [1, 2].map { number in
                Task { () async throws(DownloadError) in
                    try await rig.downloader.probe(rig.server.url("/\(number)"))
                }
            }
            while rig.server.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            await rig.downloader.shutDown()
            for probe in probes {
                let error = await #expect(throws: DownloadError.self) { try await probe.value }
                #expect(error?.code == .shutDown)
            }
            let late = await #expect(throws: DownloadError.self) {
                try await rig.downloader.probe(rig.server.url("/3"))
            }
            #expect(late?.code == .shutDown)
        }
    }

    @Test func refusesWhatHasNoURL() async throws {
        try await DownloaderRig.run(serving: resource()) { rig in
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.probe(DownloadRequest(key: "a", to: .folder(path: rig.folder)))
            }
            #expect(error?.code == .invalidURL)
            let scheme = await #expect(throws: DownloadError.self) { try await rig.downloader.probe("ftp://h/a") }
            #expect(scheme?.code == .unsupportedScheme)
        }
    }

    @Test func isAnsweredByAScript() async throws {
        let script = DownloadScript()
        try script.respond(to: "https://example.org/a.bin", with: .data([1, 2, 3]).inSteps(3), .data([4]))
        let downloader = try await Downloader.scripted(script)
        #expect(try await downloader.probe("https://example.org/a.bin").totalBytes == 3)
        #expect(try await downloader.probe("https://example.org/a.bin").totalBytes == 3)
        await downloader.shutDown()
    }
}
