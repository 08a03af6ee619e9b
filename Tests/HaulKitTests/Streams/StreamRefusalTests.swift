import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Covers rules 1, 15, 16 and 20 of `docs/streams.md`: Haul refuses protected streams, web pages and wrong keys. Also
/// tests that another host gets no secrets.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct StreamRefusalTests {
    private let film = TestStream(4)

    private func encryptedList(_ attributes: String) -> String {
        TestStream.playlist(
            ["#EXT-X-KEY:\(attributes)"] + film.segments.indices.map { TestStream.entry("\($0).ts") }
        )
    }

    @Test(arguments: [
        "METHOD=SAMPLE-AES,URI=\"key\"", "METHOD=AES-128,URI=\"skd://key\"",
        "METHOD=AES-128,URI=\"key\",KEYFORMAT=\"com.apple.streamingkeydelivery\"", "METHOD=NEW,URI=\"key\"",
    ])
    func refusesProtectionBeforeASegmentIsAskedFor(_ attributes: String) async throws {
        let site = StreamSite(film)
        site.put(encryptedList(attributes), at: StreamSite.list)
        try await site.run { rig in
            let failure = try await rig.failure(of: try rig.film())
            #expect(failure.code == .protectedStream)
            #expect(rig.paths() == [StreamSite.list])
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func refusesAChoiceThatAPlaylistOfSegmentsDoesNotHave() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            for (change, what) in [
                ({ $0.variant = "720p" }, "no variant “720p”"), ({ $0.audio = "de" }, "no sound “de”"),
                ({ $0.subtitles = "en" }, "no subtitles “en”"),
            ] as [((inout DownloadRequest.Stream) -> Void, String)] {
                let failure = try await rig.failure(of: try rig.film(StreamSite.list, change))
                #expect(failure.code == .invalidStream && failure.message.contains(what))
            }
            #expect(Set(rig.paths()) == [StreamSite.list])
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func takesNoPageForAPlaylist() async throws {
        let site = StreamSite(film)
        site.answer(StreamSite.list) { _ in .page() }
        try await site.run(configure: { $0.retry.attempts = 1 }) { rig in
            let failure = try await rig.failure(of: try rig.film())
            #expect(failure.code == .unexpectedWebPage)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test(arguments: ["text/html", "video/mp2t"]) func takesNoPageForASegment(_ type: String) async throws {
        let site = StreamSite(film)
        site.answer("/talk/2.ts") { _ in
            let text = "<html>Please log in.</html>"
            let fields = [("Content-Type", type), ("Content-Length", "\(text.utf8.count)")]
            return TestReply([.head(status: 200, reason: "OK", headers: fields), .raw(Array(text.utf8))])
        }
        try await site.run(configure: { $0.retry.attempts = 0 }) { rig in
            let failure = try await rig.failure(of: try rig.film())
            #expect(failure.code == .incompleteStream)
            #expect(try rig.holdsOnlyPart())
            #expect(rig.paths().contains("/talk/3.ts"))
        }
    }

    /// The segment breaks off long after its first bytes were written.
    @Test(arguments: [false, true]) func removesTheBytesOfARefusedSegmentIfNothingElseIsThere(_ hasOthers: Bool)
        async throws
    {
        let site = StreamSite()
        let whole = TestStream.segment(0, packets: 20_000)
        site.put(whole + [UInt8](repeating: 0, count: 400), at: "/talk/0.ts")
        site.put(film.segments[1], at: "/talk/1.ts")
        let names = hasOthers ? ["0.ts", "1.ts"] : ["0.ts"]
        site.put(TestStream.playlist(names.map { TestStream.entry($0) }), at: StreamSite.list)
        try await site.run(configure: { $0.retry.attempts = 0 }) { rig in
            let failure = try await rig.failure(of: try rig.film())
            #expect(failure.code == .incompleteStream)
            #expect(try rig.names() == (hasOthers ? ["file.bin.haulpart"] : []))
            site.put(whole, at: "/talk/0.ts")
            let asked = rig.server.requests.count
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(TestContent(whole + (hasOthers ? film.segments[1] : []))))
            #expect(rig.paths(from: asked) == [StreamSite.list, "/talk/0.ts"])
        }
    }

    @Test func saysThatAPageCameInPlaceOfAKeyAndAsksOnce() async throws {
        let site = StreamSite(film)
        site.put([UInt8](repeating: 1, count: 32), at: "/talk/key")
        site.put(encryptedList("METHOD=AES-128,URI=\"key\""), at: StreamSite.list)
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film())
            #expect(error.message.contains("32 bytes instead of 16"))
            #expect(rig.paths() == [StreamSite.list, "/talk/key"])
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func keepsSegmentsOfTheWrongKeyOut() async throws {
        let site = StreamSite(film)
        for (number, segment) in film.segments.enumerated() {
            let vector = TestCipher.vector(UInt8(number))
            site.put(TestCipher.encrypt(segment, key: [UInt8](1...16), vector: vector), at: "/talk/\(number).ts")
        }
        site.put([UInt8](2...17), at: "/talk/key")
        site.put(encryptedList("METHOD=AES-128,URI=\"key\""), at: StreamSite.list)
        try await site.run(configure: { $0.retry.attempts = 0 }) { rig in
            let failure = try await rig.failure(of: try rig.film())
            #expect(failure.code == .incompleteStream)
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    // MARK: Secrets

    private let secrets = ["Authorization: Bearer secret", "Cookie: id=secret", "X-Api-Key: secret"]
        .compactMap { HeaderField($0) }

    /// The servers are 127.0.0.1 and localhost, so that neither origins nor the domains of cookies agree.
    @Test func sendsAnotherHostNoSecrets() async throws {
        let site = StreamSite(film)
        site.put([UInt8](1...16), at: "/talk/key")
        for (number, segment) in film.segments.enumerated() where number > 1 {
            let vector = TestCipher.vector(UInt8(number))
            site.put(TestCipher.encrypt(segment, key: [UInt8](1...16), vector: vector), at: "/talk/\(number).ts")
        }
        try await DownloaderRig.run(
            others: [{ site.file($0) }],
            serving: { request, others in
                guard request.path == StreamSite.list else { return site.file(request) }
                let other = "http://localhost:\(others[0].port)/talk/"
                let lines = [
                    TestStream.entry("0.ts"), TestStream.entry(other + "1.ts"),
                    "#EXT-X-KEY:METHOD=AES-128,URI=\"\(other)key\"", TestStream.entry(other + "2.ts"),
                    TestStream.entry("3.ts"),
                ]
                let body = Array(TestStream.playlist(lines).utf8)
                let fields = [("Content-Length", "\(body.count)"), ("Set-Cookie", "ticket=secret; Path=/")]
                return TestReply([.head(status: 200, reason: "OK", headers: fields), .raw(body)])
            }
        ) { rig in
            var request = try rig.film()
            request.headers =
                secrets
                + ["Referer: http://example.org/watch?user=7", "User-Agent: Player/1"].compactMap { HeaderField($0) }
            try await rig.download(request)
            #expect(try rig.holdsOnly(film.content))
            let foreign = rig.others[0].requests
            #expect(foreign.map(\.path) == ["/talk/1.ts", "/talk/key", "/talk/2.ts"])
            for request in foreign {
                #expect(["Authorization", "Cookie", "X-Api-Key"].allSatisfy { request[$0] == nil })
                #expect(!request.headers.contains { $0.1.contains("secret") })
                #expect(request["Referer"] == "http://example.org/" && request["User-Agent"] == "Player/1")
            }
            #expect(rig.server.requests.allSatisfy { $0["X-Api-Key"] == "secret" && $0["Authorization"] != nil })
        }
    }

    /// The last segment never comes, so the film is not refused after its end.
    @Test func saysAtOnceThatAFileIsInTheWay() async throws {
        let site = StreamSite(film)
        site.answer("/talk/3.ts") { _ in TestReply([.stall]) }
        try await site.run { rig in
            let other = rig.path + ".haulpart.film"
            try Data("mine".utf8).write(to: URL(fileURLWithPath: other))
            let failure = try await rig.failure(of: try rig.film())
            #expect(failure.code == .fileExists)
            #expect(failure.message.contains("Move it away"))
            #expect(try String(contentsOfFile: other, encoding: .utf8) == "mine")
            try FileManager.default.removeItem(atPath: other)
            site.answer("/talk/3.ts", nil)
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(film.content))
        }
    }

    @Test func saysInASentenceWhyFragmentsAreNoFilm() async throws {
        let site = StreamSite()
        site.put(TestMovie.picture.initSection, at: "/talk/init.mp4")
        for (number, time) in [400, 0].enumerated() {
            let fragment = TestFragment(at: UInt32(time), [[UInt8(number), 1], [UInt8(number), 2]])
            site.put(fragment.bytes, at: "/talk/\(number).m4s")
        }
        site.put(
            TestStream.playlist(
                ["#EXT-X-MAP:URI=\"init.mp4\""] + (0..<2).map { TestStream.entry("\($0).m4s") }
            ),
            at: StreamSite.list
        )
        try await site.run { rig in
            let failure = try await rig.failure(of: try rig.film { $0.container = .automatic })
            #expect(failure.code == .invalidStream)
            #expect(failure.message.contains("The time of track"))
            #expect(!failure.message.contains("timeGoesBack"))
        }
    }

    /// Variants, segments and keys of the same origin need the login as the first playlist does.
    @Test func sendsTheLoginOfTheURLToItsOwnOriginOnly() async throws {
        let site = StreamSite(film)
        try await DownloaderRig.run(
            others: [{ site.file($0) }],
            serving: { request, others in
                guard request["Authorization"] == "Basic dTpw" else { return .empty(401, "Unauthorized") }
                if request.path == "/talk/all.m3u8" {
                    return .text("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlist.m3u8\n")
                }
                guard request.path == StreamSite.list else { return site.file(request) }
                let other = "http://localhost:\(others[0].port)/talk/1.ts"
                return .text(
                    TestStream.playlist(film.segments.indices.map { TestStream.entry($0 == 1 ? other : "\($0).ts") })
                )
            }
        ) { rig in
            var request = try rig.film("/talk/all.m3u8")
            let url = rig.server.url("/talk/all.m3u8").replacing("http://", with: "http://u:p@")
            request.url = try #require(URL(string: url))
            try await rig.download(request)
            #expect(try rig.holdsOnly(film.content))
            #expect(rig.others[0].requests.map(\.path) == ["/talk/1.ts"])
            #expect(rig.others[0].requests.allSatisfy { $0["Authorization"] == nil })
        }
    }
}
