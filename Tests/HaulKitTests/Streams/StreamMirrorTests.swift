import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Films with a mirror: rule 25 of `docs/streams.md`. Segments of two sources make one film only if both have the same
/// bytes.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct StreamMirrorTests {
    private let film = TestStream(8)

    private func mirrored(_ rig: DownloaderRig) throws -> DownloadRequest {
        var request = try rig.film()
        request.headers = [try #require(HeaderField("X-Secret", "1"))]
        request.mirrors = [.init(link(rig.others[0].url(StreamSite.list)), priority: 1)]
        return request
    }

    @Test(arguments: [404, 503]) func takesThePlaylistOfAMirrorForAFilm(_ status: Int) async throws {
        let (site, mirror) = (StreamSite(), StreamSite(film))
        site.answer(StreamSite.list) { _ in .empty(status, "Odd") }
        try await site.run(others: [{ mirror.reply(to: $0) }]) { rig in
            try await rig.download(try mirrored(rig))
            #expect(try rig.holdsOnly(film.content))
            let asked = rig.others[0].requests
            #expect(asked.map(\.path) == [StreamSite.list] + (0..<8).map { "/talk/\($0).ts" })
            #expect(asked.allSatisfy { $0["X-Secret"] == nil })
        }
    }

    /// Both servers have a film of the same names with other bytes.
    @Test func mixesNoFilmOfAMirrorWithThatOfAnotherSource() async throws {
        let other = TestStream(8, seed: 9)
        let (site, mirror) = (StreamSite(other), StreamSite(film))
        site.answer(StreamSite.list) { _ in .empty(503, "Odd") }
        mirror.remove("/talk/6.ts")
        try await site.run(others: [{ mirror.reply(to: $0) }], configure: { $0.retry.attempts = 0 }) { rig in
            _ = try await rig.failure(of: try mirrored(rig))
            #expect(rig.others[0].requests.map(\.path).contains("/talk/7.ts"))
            site.answer(StreamSite.list, nil)
            try await rig.another { second async throws in
                _ = try await second.add(try mirrored(rig)).result()
            }
            #expect(try rig.holdsOnly(other.content))
        }
    }

    // MARK: Segments that only one source has

    @Test(arguments: [404, 503]) func fetchesFromAMirrorWhatTheFirstSourceLacks(_ status: Int) async throws {
        let (site, mirror) = (StreamSite(film), StreamSite(film))
        site.answer("/talk/3.ts") { _ in .empty(status, "Odd") }
        try await site.run(others: [{ mirror.reply(to: $0) }]) { rig in
            try await rig.download(try mirrored(rig))
            #expect(try rig.holdsOnly(film.content))
            let compared = [0, 2, 5, 7].map { "/talk/\($0).ts" }
            #expect(rig.others[0].requests.map(\.path) == [StreamSite.list] + compared + ["/talk/3.ts"])
            for number in film.segments.indices where number != 3 {
                #expect(rig.paths().count { $0 == "/talk/\(number).ts" } == 1)
            }
        }
    }

    @Test func fetchesFromAMirrorWithOtherNamesAndAnotherKey() async throws {
        let (site, mirror) = (StreamSite(film), StreamSite())
        site.remove("/talk/3.ts")
        let key = [UInt8](1...16)
        mirror.put(key, at: "/talk/key")
        for (number, segment) in film.segments.enumerated() {
            let vector = TestCipher.vector(UInt8(number))
            mirror.put(TestCipher.encrypt(segment, key: key, vector: vector), at: "/talk/copy-\(number).ts")
        }
        let entries = film.segments.indices.map { TestStream.entry("copy-\($0).ts") }
        mirror.put(
            TestStream.playlist(["#EXT-X-KEY:METHOD=AES-128,URI=\"key\""] + entries),
            at: StreamSite.list
        )
        try await site.run(others: [{ mirror.reply(to: $0) }]) { rig in
            try await rig.download(try mirrored(rig))
            #expect(try rig.holdsOnly(film.content))
        }
    }

    @Test func takesNothingFromAMirrorWithOtherBytes() async throws {
        let (site, mirror) = (StreamSite(film), StreamSite(TestStream(8, seed: 9)))
        site.remove("/talk/3.ts")
        try await site.run(others: [{ mirror.reply(to: $0) }]) { rig in
            let error = try await rig.failure(of: try mirrored(rig))
            #expect(error.code == .incompleteStream)
            #expect(error.message.contains("1 segment of 8 is missing") && error.message.contains("another film"))
            #expect(error.message.contains("Everything that was received is kept"))
            #expect(try rig.holdsOnlyPart())
            #expect(!rig.others[0].requests.map(\.path).contains("/talk/3.ts"))
            let asked = rig.server.requests.count
            site.put(film.segments[3], at: "/talk/3.ts")
            try await rig.another { second async throws in
                _ = try await second.add(try mirrored(rig)).result()
            }
            #expect(try rig.holdsOnly(film.content))
            #expect(rig.paths(from: asked) == [StreamSite.list, "/talk/3.ts"])
        }
    }

    /// The compared segments are longer, except one.
    @Test func takesNothingFromAMirrorWithLongerSegments() async throws {
        let (site, mirror) = (StreamSite(film), StreamSite(film))
        site.remove("/talk/3.ts")
        for number in film.segments.indices where number != 0 {
            mirror.put(film.segments[number] + film.segments[number], at: "/talk/\(number).ts")
        }
        try await site.run(others: [{ mirror.reply(to: $0) }]) { rig in
            let error = try await rig.failure(of: try mirrored(rig))
            #expect(error.message.contains("another film"))
            #expect(!rig.others[0].requests.map(\.path).contains("/talk/3.ts"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    /// Only the durations differ.
    @Test func takesNothingFromAMirrorWithAnotherList() async throws {
        let (site, mirror) = (StreamSite(film), StreamSite(film))
        site.remove("/talk/3.ts")
        mirror.put(
            TestStream.playlist(film.segments.indices.map { TestStream.entry("\($0).ts", $0 == 6 ? 3 : 4) }),
            at: StreamSite.list
        )
        try await site.run(others: [{ mirror.reply(to: $0) }]) { rig in
            let error = try await rig.failure(of: try mirrored(rig))
            #expect(error.message.contains("another film"))
            #expect(rig.others[0].requests.map(\.path) == [StreamSite.list])
            #expect(try rig.holdsOnlyPart())
        }
    }

    @Test func namesTheSegmentThatAMirrorLacksToo() async throws {
        let (site, mirror) = (StreamSite(film), StreamSite(film))
        site.remove("/talk/3.ts")
        mirror.remove("/talk/3.ts")
        try await site.run(others: [{ mirror.reply(to: $0) }]) { rig in
            let error = try await rig.failure(of: try mirrored(rig))
            #expect(error.message.contains("1 segment of 8 could not be had (4 s of the film): number 3."))
            #expect(error.status == 404)
            #expect(try rig.holdsOnlyPart())
        }
    }
}
