import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Films of transport stream whose program tables change although no playlist says so (rule 21 of `docs/streams.md`),
/// and whose segments have no tables or no media (rule 20).
@Suite(.serialized, .enabled(if: FilmProgram.isInstalled, FilmProgram.isNeeded), .timeLimit(.minutes(60)))
struct StreamTablesTests {
    private typealias Container = DownloadRequest.Stream.Container

    /// Lets the same film have other packet numbers.
    private static let otherNumbers = [
        "-hls_segment_options", "mpegts_start_pid=0x300:mpegts_pmt_start_pid=0x1100",
    ]

    /// Puts six seconds with both kinds of packet numbers on a site: `a/0.ts` to `a/5.ts`, and `b/0.ts` to `b/5.ts`.
    private func site(_ names: [String]) async throws -> StreamSite {
        let site = StreamSite()
        let source = try await FilmSource.plain.value
        try await source.stream().put(on: site, at: "/talk/a/")
        try await source.stream(Self.otherNumbers).put(on: site, at: "/talk/b/")
        site.put(TestStream.playlist(names.map { TestStream.entry($0, 1) }, target: 1), at: StreamSite.list)
        return site
    }

    private let changing = ["a/0.ts", "a/1.ts", "b/2.ts", "b/3.ts", "a/4.ts", "a/5.ts"]
    private let plain = (0..<6).map { "a/\($0).ts" }

    private func film(
        _ site: StreamSite,
        _ container: DownloadRequest.Stream.Container = .automatic,
        _ change: (inout DownloadRequest.Stream) -> Void = { _ in }
    ) async throws -> DecodedFilm {
        var film: DecodedFilm?
        try await site.run { rig in
            let request = try rig.film {
                $0.container = container
                change(&$0)
            }
            try await rig.download(request)
            #expect(try rig.names() == ["file.bin"])
            film = try await DecodedFilm(path: rig.path)
        }
        return try #require(film)
    }

    /// Returns the packets of tables, or the other ones.
    private func packets(_ segment: [UInt8], areTables: Bool) -> [UInt8] {
        stride(from: 0, to: segment.count, by: 188).filter { start in
            let number = Int(segment[start + 1] & 0x1f) << 8 | Int(segment[start + 2])
            return [0, 0x11, 0x1000, 0x1100].contains(number) == areTables
        }.flatMap { segment[$0..<$0 + 188] }
    }

    private static let stuffing = (0..<300).flatMap { _ in
        [0x47, 0x1f, 0xff, 0x10] + [UInt8](repeating: 0xff, count: 184)
    }

    // MARK: Other streams

    @Test(arguments: DownloadRequest.Stream.Container.allCases)
    func showsAFilmWhosePacketNumbersChange(_ container: DownloadRequest.Stream.Container) async throws {
        let source = try await FilmSource.plain.value.decoded
        try await film(try await site(changing), container).expect(toShow: source, within: DecodedFilm.frame)
    }

    @Test func showsAFilmWhosePacketNumbersChangeWithinASegment() async throws {
        let site = try await site(["a/0.ts", "a/1.ts", "both.ts", "b/4.ts", "b/5.ts"])
        let both = [try #require(site.bytes(at: "/talk/a/2.ts")), try #require(site.bytes(at: "/talk/b/3.ts"))]
        site.put(both.flatMap(\.self), at: "/talk/both.ts")
        let source = try await FilmSource.plain.value.decoded
        try await film(site).expect(toShow: source, within: DecodedFilm.frame)
    }

    /// One track would be decoded with the parameters of the first codec.
    @Test(arguments: DownloadRequest.Stream.Container.allCases)
    func refusesAnotherCodecThatNothingAnnounces(_ container: DownloadRequest.Stream.Container) async throws {
        let site = try await site(plain)
        try await FilmSource.otherCodec.value.stream().put(on: site, at: "/talk/c/")
        let names = plain.prefix(3) + ["c/0.ts", "c/1.ts", "c/2.ts"]
        site.put(TestStream.playlist(names.map { TestStream.entry($0, 1) }, target: 1), at: StreamSite.list)
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film { $0.container = container })
            #expect(error.code == .invalidStream && error.message.contains("changes in the middle"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    /// The pictures of a segment without tables have numbers that no table names, so that ffmpeg leaves them out.
    @Test func refusesAFilmThatLacksPictures() async throws {
        let site = try await site(plain)
        let segment = try #require(site.bytes(at: "/talk/b/3.ts"))
        site.put(packets(segment, areTables: false), at: "/talk/a/3.ts")
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film { $0.container = .mp4 })
            #expect(error.code == .invalidStream && error.message.contains("125 of the 150 pictures"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    @Test func keepsTheTablesOfASegmentInAnotherDownloader() async throws {
        let site = try await site(changing)
        let first = changing.prefix(4).map { site.bytes(at: "/talk/" + $0)?.count ?? 0 }
        site.answer("/talk/a/4.ts") { _ in TestReply([.stall]) }
        var film: DecodedFilm?
        try await site.run { rig in
            let download = try await rig.downloader.add(try rig.film { $0.container = .mp4 })
            while !rig.paths().contains("/talk/a/4.ts") { try await Task.sleep(for: .milliseconds(5)) }
            await download.reaches(Int64(first.reduce(0, +)))
            try await download.pause()
            site.answer("/talk/a/4.ts", nil)
            try await rig.reopened { second async throws in
                _ = try await second.add(try rig.film { $0.container = .mp4 }).result()
            }
            #expect(rig.paths().count { $0 == "/talk/b/2.ts" } == 1)
            film = try await DecodedFilm(path: rig.path)
        }
        let source = try await FilmSource.plain.value.decoded
        try #require(film).expect(toShow: source, within: DecodedFilm.frame)
    }

    // MARK: No tables, no media

    @Test(arguments: DownloadRequest.Stream.Container.allCases)
    func readsASegmentWithoutTablesByThoseBefore(_ container: DownloadRequest.Stream.Container) async throws {
        let site = try await site(plain)
        for number in [2, 3] {
            let segment = try #require(site.bytes(at: "/talk/a/\(number).ts"))
            site.put(packets(segment, areTables: false), at: "/talk/a/\(number).ts")
        }
        let source = try await FilmSource.plain.value.decoded
        try await film(site, container).expect(toShow: source)
    }

    @Test(arguments: [false, true]) func refusesASegmentOfStuffing(_ hasTables: Bool) async throws {
        let site = try await site(plain)
        let segment = try #require(site.bytes(at: "/talk/a/3.ts"))
        let tables = hasTables ? packets(segment, areTables: true) : []
        site.put(tables + Self.stuffing, at: "/talk/a/3.ts")
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film { $0.container = .automatic })
            #expect(error.code == .incompleteStream)
            #expect(error.message.contains("number 3") && error.message.contains("neither pictures nor sound"))
            #expect(try rig.holdsOnlyPart())
            #expect(rig.paths().count { $0 == "/talk/a/3.ts" } == 1)
        }
    }

    @Test func leavesOutASegmentOfStuffingIfGapsAreAllowed() async throws {
        let site = try await site(plain)
        site.put(Self.stuffing, at: "/talk/a/3.ts")
        let source = try await FilmSource.plain.value.decoded.pictures
        let found = try await film(site) { $0.allowsGaps = true }.pictures
        #expect(found.map(\.digest) == (source[..<75] + source[100...]).map(\.digest))
    }

    /// The segment has no time in the film, and lacks nothing.
    @Test func showsAFilmThatEndsWithTablesAlone() async throws {
        let site = try await site(plain)
        let segment = try #require(site.bytes(at: "/talk/a/5.ts"))
        site.put(packets(segment, areTables: true), at: "/talk/end.ts")
        let entries = plain.map { TestStream.entry($0, 1) } + ["#EXTINF:0.04,\nend.ts"]
        site.put(TestStream.playlist(entries, target: 1), at: StreamSite.list)
        let source = try await FilmSource.plain.value.decoded
        try await film(site).expect(toShow: source)
    }
}

extension FilmSource {
    /// Three seconds of pictures of another codec.
    fileprivate static let otherCodec = Task { try await FilmSource(seconds: 3, codec: ["-c:v", "mpeg2video"]) }
}
