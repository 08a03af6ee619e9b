import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Files and keys that change behind their URLs, and segments of which nothing shows that they are whole.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct StreamVersionTests {
    private let film = TestStream(8)
    private let other = TestStream(8, seed: 9)

    /// Lists the segments as ranges of one file.
    private func putRanges(on site: StreamSite) {
        let length = film.segments[0].count
        let entries = film.segments.indices.map {
            "#EXT-X-BYTERANGE:\(length)@\($0 * length)\n" + TestStream.entry("all.ts")
        }
        site.put(TestStream.playlist(entries), at: StreamSite.list)
    }

    @Test(arguments: [true, false]) func mixesNoRangesOfTwoVersionsOfAFile(_ hasTags: Bool) async throws {
        let site = StreamSite()
        putRanges(on: site)
        let first = film.content.resource(etag: hasTags ? "\"1\"" : nil)
        // Without a tag only the length shows that this is another version.
        let longer = TestContent(other.film + (hasTags ? [] : TestStream.segment(8, seed: 9)))
        let second = longer.resource(etag: hasTags ? "\"2\"" : nil)
        let requests = CallCounter()
        site.answer("/talk/all.ts") { (requests.next() <= 4 ? first : second).reply(to: $0) }
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film())
            #expect(error.code == .contentChanged)
            #expect(requests.value == 5)
            #expect(try rig.holdsOnlyPart())
            // The four ranges of the first version are fetched again.
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(other.content))
        }
    }

    /// A weak tag or a date that changes shows another version, though one that stays proves nothing.
    @Test(arguments: [true, false]) func mixesNoRangesOfTwoWeakTagsOrDates(_ hasTags: Bool) async throws {
        let site = StreamSite()
        putRanges(on: site)
        let resources = [film.film, other.film].enumerated().map { number, bytes in
            TestContent(bytes).resource(
                etag: hasTags ? "W/\"\(number)\"" : nil,
                lastModified: hasTags ? nil : "Mon, 0\(number + 1) Jan 2024 00:00:00 GMT"
            )
        }
        let requests = CallCounter()
        site.answer("/talk/all.ts") { resources[requests.next() <= 4 ? 0 : 1].reply(to: $0) }
        try await site.run { rig in
            #expect(try await rig.failure(of: try rig.film()).code == .contentChanged)
            #expect(try rig.holdsOnlyPart())
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(other.content))
        }
    }

    @Test func keepsTheRangesOfAnUnchangedFile() async throws {
        let site = StreamSite()
        putRanges(on: site)
        let resource = film.content.resource()
        let requests = CallCounter()
        site.answer("/talk/all.ts") { requests.next() == 5 ? .empty(404, "Not Found") : resource.reply(to: $0) }
        try await site.run { rig in
            _ = try await rig.failure(of: try rig.film())
            #expect(requests.value == 8)
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(film.content))
            #expect(requests.value == 9)
        }
    }

    // MARK: Keys

    private func putEncrypted(_ film: TestStream, _ key: [UInt8], on site: StreamSite) {
        site.put(key, at: "/talk/key")
        for (number, segment) in film.segments.enumerated() {
            let vector = TestCipher.vector(UInt8(number))
            site.put(TestCipher.encrypt(segment, key: key, vector: vector), at: "/talk/\(number).ts")
        }
        let entries = film.segments.indices.map { TestStream.entry("\($0).ts") }
        site.put(
            TestStream.playlist(["#EXT-X-KEY:METHOD=AES-128,URI=\"key\""] + entries),
            at: StreamSite.list
        )
    }

    @Test func fetchesSegmentsOfAnotherKeyAgain() async throws {
        let site = StreamSite()
        putEncrypted(film, [UInt8](1...16), on: site)
        site.remove("/talk/6.ts")
        try await site.run { rig in
            _ = try await rig.failure(of: try rig.film())
            putEncrypted(other, [UInt8](101...116), on: site)
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(other.content))
        }
    }

    @Test func keepsTheSegmentsOfTheSameKey() async throws {
        let site = StreamSite()
        putEncrypted(film, [UInt8](1...16), on: site)
        let missing = try #require(site.bytes(at: "/talk/6.ts"))
        site.remove("/talk/6.ts")
        try await site.run { rig in
            _ = try await rig.failure(of: try rig.film())
            let asked = rig.server.requests.count
            site.put(missing, at: "/talk/6.ts")
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(film.content))
            #expect(rig.paths(from: asked) == [StreamSite.list, "/talk/key", "/talk/6.ts"])
        }
    }

    /// The server changes the key of a live stream behind its URL.
    @Test func asksAgainForTheKeyOfALiveStream() async throws {
        let site = StreamSite()
        let keys = [[UInt8](1...16), [UInt8](101...116)]
        for (number, segment) in film.segments.enumerated() {
            let vector = TestCipher.vector(UInt8(number))
            site.put(TestCipher.encrypt(segment, key: keys[number / 4], vector: vector), at: "/talk/\(number).ts")
        }
        let (readings, requests) = (CallCounter(), CallCounter())
        site.answer(StreamSite.list) { _ in
            let isLast = readings.next() > 1
            let entries = (0..<(isLast ? 8 : 4)).map { TestStream.entry("\($0).ts", 1) }
            let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"key\""
            return .text(TestStream.playlist([key] + entries, target: 1, ends: isLast))
        }
        site.answer("/talk/key") { request in
            let bytes = requests.next() == 1 ? keys[0] : keys[1]
            return TestContent(bytes).resource(etag: nil).reply(to: request)
        }
        try await site.run { rig in
            let made = try await rig.download(try rig.film { $0.liveStart = .start })
            #expect(try rig.holdsOnly(film.content))
            #expect(made.gaps.isEmpty && requests.value == 2)
        }
    }

    // MARK: Proofs

    @Test func provesNoFilmWithASegmentThatMayBeCutOff() async throws {
        let site = StreamSite(film)
        let (bytes, content) = (film.segments[3], TestContent(film.segments[3]))
        let replies = [
            TestReply([.head(status: 200, reason: "OK", headers: []), .raw(bytes), .close], keepsAlive: false),
            TestReply.chunked(content),
        ]
        for (reply, proof) in zip(replies, [CompletedDownload.Proof.none, .length]) {
            site.answer("/talk/3.ts") { _ in reply }
            try await site.run { rig in
                let made = try await rig.download(try rig.film())
                #expect(made.proof == proof)
                #expect(try rig.holdsOnly(film.content))
            }
        }
    }
}
