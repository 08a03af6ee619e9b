import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import Hummingbird
import HummingbirdTesting
import Testing

@testable import HaulServer

/// Tests the route that sends the file of an unfinished download.
@Suite(.timeLimit(.minutes(60))) struct PlayingTests {
    private static let content = TestContent(seed: 5, count: 20_000_000)
    /// Number of bytes that the origin's first answer brings before it falls silent.
    private static let there: Int64 = 200_000

    /// Runs a test with a download of which the first bytes are there.
    private func playing(
        name: String = "film.mp4",
        isMeasured: Bool = false,
        configure: (inout ServerConfiguration) -> Void = { _ in },
        _ body: @Sendable @escaping (ServerRig, any TestClientProtocol, Download, TestServer) async throws -> Void
    ) async throws {
        let whole = FileResource(content: Self.content, etag: "\"5\"")
        var silent = whole
        (silent.bodyLimit, silent.ending) = (Self.there, .stall)
        let first = silent
        let origin = try await TestServer.start { $0.requestNumber == 1 ? first.reply(to: $0) : whole.reply(to: $0) }
        let url = origin.url("/file")
        let result: Result<Void, any Error>
        do {
            try await ServerRig.run(configure: configure) { rig, client in
                var request = try DownloadRequest(url, to: .folder(path: rig.folder("downloads")))
                request.suggestedName = name
                // Under a speed limit the measured speeds do not count, so that only players cause further requests.
                if !isMeasured { request.bytesPerSecond = 1 << 36 }
                let download = try await rig.downloader.add(request)
                _ = await download.snapshot { $0.receivedBytes >= Self.there }
                try await body(rig, client, download, origin)
            }
            result = .success(())
        } catch { result = .failure(error) }
        await origin.stop()
        try result.get()
    }

    private func path(_ download: Download) -> String { "/api/v1/downloads/\(download.id)/file" }

    @Test func sendsWhatIsThereWithTheFieldsOfTheFinishedFile() async throws {
        try await playing { rig, client, download, _ async throws in
            let part = try await client.call(.get, path(download), rig, [.range: "bytes=0-99999"])
            #expect(part.status == .partialContent)
            #expect(Array(buffer: part.body) == Self.content.bytes(0..<100_000))
            #expect(part.headers[.contentRange] == "bytes 0-99999/20000000")
            #expect(part.headers[.contentType] == "video/mp4")
            #expect(part.headers[.acceptRanges] == "bytes")
            #expect(part.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'none'; media-src 'self'") == true)
            let head = try await client.call(.head, path(download), rig)
            #expect(head.status == .ok && head.headers[.contentLength] == "20000000" && head.body.readableBytes == 0)
            #expect(head.headers[.eTag] == part.headers[.eTag])
            let past = try await client.call(.get, path(download), rig, [.range: "bytes=20000000-"])
            #expect(past.status == .rangeNotSatisfiable)
            let known = try #require(part.headers[.eTag])
            #expect(try await client.call(.get, path(download), rig, [.ifNoneMatch: known]).status == .notModified)
        }
    }

    @Test func aRangeInTheFarPartMakesTheNextRequestOfTheOriginThere() async throws {
        try await playing { rig, client, download, origin async throws in
            let far = try await client.call(.get, path(download), rig, [.range: "bytes=15000000-15099999"])
            #expect(Array(buffer: far.body) == Self.content.bytes(15_000_000..<15_100_000))
            #expect(origin.requests.map { $0["Range"] } == [nil, "bytes=15000000-19999999"])
        }
    }

    @Test func twoPlayersAreServedAtOnce() async throws {
        try await playing(isMeasured: true) { rig, client, download, _ async throws in
            async let one = client.call(.get, path(download), rig, [.range: "bytes=6000000-7999999"])
            async let other = client.call(.get, path(download), rig, [.range: "bytes=15000000-16999999"])
            #expect(try await Array(buffer: one.body) == Self.content.bytes(6_000_000..<8_000_000))
            #expect(try await Array(buffer: other.body) == Self.content.bytes(15_000_000..<17_000_000))
            let file = try await download.result()
            #expect(try Self.content.matches(fileAt: file.path))
        }
    }

    @Test func theTagOfAVersionStaysWhenTheFileIsComplete() async throws {
        try await playing(isMeasured: true) { rig, client, download, _ async throws in
            let before = try await client.call(.head, path(download), rig).headers[.eTag]
            _ = try await client.call(.get, path(download), rig, [.range: "bytes=15000000-15000009"])
            let file = try await download.result()
            #expect(try await client.call(.head, path(download), rig).headers[.eTag] == before)
            try Data("changed".utf8).write(to: URL(fileURLWithPath: file.path))
            #expect(try await client.call(.head, path(download), rig).headers[.eTag] != before)
        }
    }

    @Test func theAnswerOfAPausedDownloadEndsEarly() async throws {
        try await playing { rig, client, download, origin async throws in
            try await download.pause()
            let there = try await client.call(.get, path(download), rig, [.range: "bytes=0-199999"])
            #expect(Array(buffer: there.body) == Self.content.bytes(0..<Self.there))
            await #expect(throws: (any Error).self) {
                try await client.call(.get, path(download), rig, [.range: "bytes=0-200000"])
            }
            #expect(origin.requests.count == 1)
        }
    }

    @Test(arguments: ["archive.zip", "film.mkv", "page.html", "notes.txt", "picture.png"])
    func otherKindsAreNotSentBeforeTheyAreComplete(_ name: String) async throws {
        try await playing(name: name) { rig, client, download, origin async throws in
            let answer = try await client.call(.get, path(download), rig, [.range: "bytes=0-9"])
            #expect(answer.status == .conflict && answer.code == "notFinished")
            #expect(origin.requests.count == 1)
        }
    }

    @Test func nothingIsSentAsAnAttachmentBeforeItIsComplete() async throws {
        try await playing { rig, client, download, _ async throws in
            #expect(try await client.call(.get, path(download) + "?download=true", rig).code == "notFinished")
        }
    }

    @Test func theSettingTurnsItOff() async throws {
        try await playing(configure: { $0.playsUnfinished = false }) { rig, client, download, _ async throws in
            for method in [HTTPRequest.Method.get, .head] {
                #expect(try await client.call(method, path(download), rig).status == .conflict)
            }
        }
    }

    @Test func nobodyElseReadsIt() async throws {
        try await playing { rig, client, download, _ async throws in
            #expect(try await client.send(.get, path(download), [.range: "bytes=0-9"]).status == .unauthorized)
            let unknown = "/api/v1/downloads/01a20487-d608-77ce-8cf2-0ed7401a7d0e/file"
            #expect(try await client.call(.get, unknown, rig).status == .notFound)
        }
    }
}
