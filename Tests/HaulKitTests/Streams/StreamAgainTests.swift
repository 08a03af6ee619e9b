import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// A further request for a URL whose film is there.
struct StreamAgainTests {
    private let film = TestStream(8)

    @Test func takesTheFilmThatIsThere() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            try await rig.download(try rig.film())
            let asked = rig.server.requests.count
            for change: (inout DownloadRequest.Stream) -> Void in [
                { _ in }, { $0.variant = "best" }, { $0.container = .automatic }, { $0.allowsGaps = true },
            ] {
                #expect(try await rig.download(try rig.film(StreamSite.list, change)).alreadyExisted)
            }
            #expect(rig.server.requests.count == asked)
        }
    }

    @Test func takesNoFilmForAnotherOneOfItsURL() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            try await rig.download(try rig.film())
            for change: (inout DownloadRequest.Stream) -> Void in [
                { $0.variant = "smallest" }, { $0.audio = "de" }, { $0.subtitles = "all" }, { $0.container = .mp4 },
                { $0.keepsPlaylist = true }, { $0.liveSeconds = 3 },
            ] {
                #expect(try await rig.failure(of: try rig.film(StreamSite.list, change)).code == .fileExists)
            }
            #expect(try rig.holdsOnly(film.content))
        }
    }

    @Test func takesNoPlaylistForItsFilm() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            try await rig.download(try rig.film { $0.keepsPlaylist = true })
            #expect(try await rig.failure(of: try rig.film()).code == .fileExists)
            #expect(try await rig.download(try rig.film { $0.keepsPlaylist = true }).alreadyExisted)
        }
    }

    // MARK: Films with gaps

    private func rest(without missing: Int) -> TestContent {
        TestContent(film.segments.enumerated().filter { $0.offset != missing }.flatMap(\.element))
    }

    @Test func fetchesAFilmAgainWhoseMissingSegmentIsBack() async throws {
        let site = StreamSite(film)
        site.remove("/talk/2.ts")
        try await site.run { rig in
            let request = try rig.film { $0.allowsGaps = true }
            #expect(try await rig.download(request).gaps.count == 1)
            #expect(try rig.holdsOnly(rest(without: 2)))
            site.put(film.segments[2], at: "/talk/2.ts")
            let asked = rig.server.requests.count
            let made = try await rig.download(request)
            #expect(!made.alreadyExisted && made.gaps.isEmpty && made.path == rig.path)
            #expect(try rig.holdsOnly(film.content))
            let looked = [StreamSite.list, "/talk/2.ts"]
            #expect(rig.paths(from: asked) == looked + [StreamSite.list] + (0..<8).map { "/talk/\($0).ts" })
            // A whole film is not asked for again.
            let then = rig.server.requests.count
            #expect(try await rig.download(request).alreadyExisted)
            #expect(rig.server.requests.count == then)
        }
    }

    /// The name comes from the URL, so another file of that name would get a number.
    @Test func putsAFilmThatWasFetchedAgainInThePlaceOfTheOneWithGaps() async throws {
        let site = StreamSite(film)
        site.put(
            TestStream.playlist(
                film.segments.indices.map { ($0 == 5 ? "#EXT-X-GAP\n" : "") + TestStream.entry("\($0).ts") }
            ),
            at: StreamSite.list
        )
        try await site.run { rig in
            var request = try rig.film { $0.allowsGaps = true }
            request.destination = .folder(path: rig.folder)
            try await rig.download(request)
            #expect(try rig.holdsOnly(rest(without: 5), named: "list.ts"))
            site.put(
                TestStream.playlist(film.segments.indices.map { TestStream.entry("\($0).ts") }),
                at: StreamSite.list
            )
            try await rig.another { second async throws in
                for result in await second.add([request]) {
                    #expect(try await result.get().result().gaps.isEmpty)
                }
            }
            #expect(try rig.holdsOnly(film.content, named: "list.ts"))
        }
    }

    @Test func leavesAFilmWhoseSegmentIsStillMissing() async throws {
        let site = StreamSite(film)
        site.remove("/talk/2.ts")
        try await site.run { rig in
            let request = try rig.film { $0.allowsGaps = true }
            let first = try await rig.download(request)
            let asked = rig.server.requests.count
            let again = try await rig.download(request)
            #expect(again.alreadyExisted && again.gaps == first.gaps)
            #expect(rig.paths(from: asked) == [StreamSite.list, "/talk/2.ts"])
            #expect(try rig.holdsOnly(rest(without: 2)))
        }
    }

    /// One segment is back, and two others are gone.
    @Test func keepsAFilmIfTheServerLacksMoreByNow() async throws {
        let site = StreamSite(film)
        site.remove("/talk/2.ts")
        try await site.run { rig in
            let request = try rig.film { $0.allowsGaps = true }
            try await rig.download(request)
            site.put(film.segments[2], at: "/talk/2.ts")
            for number in [4, 6] { site.remove("/talk/\(number).ts") }
            let error = try await rig.failure(of: request)
            #expect(error.code == .incompleteStream && error.message.contains("2, not 1"))
            #expect(try rest(without: 2).matches(fileAt: rig.path))
            for number in [4, 6] { site.put(film.segments[number], at: "/talk/\(number).ts") }
            try await rig.download(request)
            #expect(try rig.holdsOnly(film.content))
        }
    }

    /// The user's file is in the place of the film.
    @Test func replacesNoFileThatHasChanged() async throws {
        let site = StreamSite(film)
        site.remove("/talk/2.ts")
        try await site.run { rig in
            let request = try rig.film { $0.allowsGaps = true }
            try await rig.download(request)
            site.put(film.segments[2], at: "/talk/2.ts")
            let path = rig.path
            site.answer("/talk/7.ts") { request in
                // A failure to write shows in the content that is expected below.
                try? Data("mine".utf8).write(to: URL(fileURLWithPath: path))
                return site.file(request)
            }
            #expect(try await rig.failure(of: request).code == .fileExists)
            #expect(try rig.text(at: path) == "mine")
        }
    }
}
