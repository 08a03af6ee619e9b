import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Rules 18, 19 and 25 of `docs/streams.md`: no name without all segments, and a later run asks only for what is
/// missing.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct StreamMissingTests {
    private let film = TestStream(8)

    private func list(_ query: String = "", gap: Int? = nil) -> String {
        TestStream.playlist(
            film.segments.indices.map { ($0 == gap ? "#EXT-X-GAP\n" : "") + TestStream.entry("\($0).ts\(query)") }
        )
    }

    private func others(than missing: Int) -> [String] {
        (0..<8).filter { $0 != missing }.map { "/talk/\($0).ts" }
    }

    @Test(arguments: [1, 4]) func asksLaterOnlyForTheSegmentThatWasMissing(_ connections: Int) async throws {
        let site = StreamSite(film)
        site.remove("/talk/3.ts")
        try await site.run(configure: { $0.connections.maxPerDownload = connections }) { rig in
            let error = try await rig.failure(of: try rig.film())
            #expect(error.code == .incompleteStream && error.status == 404)
            #expect(error.message.contains("number 3") && error.message.contains("1 segment of 8"))
            #expect(try rig.holdsOnlyPart())
            #expect(Set(others(than: 3)).isSubset(of: rig.paths()))
            let asked = rig.server.requests.count
            site.put(film.segments[3], at: "/talk/3.ts")
            // The signatures of a later list are other ones.
            site.put(list("?signature=2"), at: StreamSite.list)
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(film.content))
            #expect(rig.paths(from: asked) == [StreamSite.list, "/talk/3.ts"])
        }
    }

    @Test func fetchesAllOthersIfTheServerRefusesOne() async throws {
        let site = StreamSite(film)
        site.answer("/talk/2.ts") { _ in .empty(403, "Forbidden") }
        try await site.run(configure: { $0.retry.attempts = 1 }) { rig in
            let error = try await rig.failure(of: try rig.film())
            #expect(error.status == 403)
            #expect(try rig.holdsOnlyPart())
            for path in others(than: 2) { #expect(rig.paths().count { $0 == path } == 1) }
        }
    }

    /// The last attempt has nothing but the refused segment to ask for.
    @Test(arguments: [400, 401, 403, 405, 410, 429, 500, 503])
    func saysWhatIsMissingIfTheServerRefusesASegmentForGood(_ status: Int) async throws {
        let site = StreamSite(film)
        site.answer("/talk/2.ts") { _ in .empty(status, "Odd") }
        try await site.run(configure: { $0.retry.attempts = 1 }) { rig in
            for _ in 0..<2 {
                let error = try await rig.failure(of: try rig.film())
                #expect(error.code == .incompleteStream && error.status == status)
                #expect(error.message.contains("1 segment of 8 could not be had (4 s of the film): number 2."))
                #expect(error.message.contains("\(status)") && error.message.contains("Everything else is kept"))
            }
            #expect(try rig.holdsOnlyPart())
        }
    }

    @Test func readsThePlaylistAgainForAnExpiredSignature() async throws {
        let site = StreamSite(film)
        let readings = CallCounter()
        let lists = (0...9).map { list("?signature=\($0)") }
        site.answer(StreamSite.list) { _ in .text(lists[readings.next()]) }
        site.answer("/talk/5.ts") { $0.target.hasSuffix("=1") ? .empty(403, "Forbidden") : site.file($0) }
        try await site.run { rig in
            try await rig.download(try rig.film())
            #expect(try rig.holdsOnly(film.content))
            let targets = rig.server.requests.map(\.target).filter { $0.hasPrefix("/talk/5.ts") }
            #expect(targets == ["/talk/5.ts?signature=1", "/talk/5.ts?signature=2"])
            for path in others(than: 5) { #expect(rig.paths().count { $0 == path } == 1) }
        }
    }

    /// Each playlist's signature is good for three segments.
    @Test func goesOnWhileSignaturesExpire() async throws {
        let site = StreamSite(film)
        let readings = CallCounter()
        let lists = (0...20).map { list("?signature=\($0)") }
        let uses = (0...20).map { _ in CallCounter() }
        site.answer(StreamSite.list) { _ in .text(lists[min(readings.next(), 20)]) }
        for number in film.segments.indices {
            site.answer("/talk/\(number).ts") { request in
                let signature = request.target.split(separator: "=").last.flatMap { Int($0) } ?? 0
                return uses[signature].next() > 3 ? .empty(403, "Forbidden") : site.file(request)
            }
        }
        try await site.run { rig in
            try await rig.download(try rig.film())
            #expect(try rig.holdsOnly(film.content))
        }
    }

    @Test func startsOverIfThePlaylistListsAnotherFilm() async throws {
        let site = StreamSite(film)
        let other = TestStream(8, seed: 9)
        site.remove("/talk/6.ts")
        try await site.run { rig in
            _ = try await rig.failure(of: try rig.film())
            let asked = rig.server.requests.count
            for (number, segment) in other.segments.enumerated() { site.put(segment, at: "/talk/new-\(number).ts") }
            site.put(
                TestStream.playlist(other.segments.indices.map { TestStream.entry("new-\($0).ts") }),
                at: StreamSite.list
            )
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(other.content))
            #expect(Set(rig.paths(from: asked)).isSuperset(of: (0..<8).map { "/talk/new-\($0).ts" }))
        }
    }

    /// The segments of both variants have the same paths.
    @Test func startsOverForAnotherVariant() async throws {
        let site = StreamSite()
        let other = TestStream(8, seed: 9)
        let master = { (names: [String]) in
            "#EXTM3U\n"
                + names.map { "#EXT-X-STREAM-INF:BANDWIDTH=\($0 == "high" ? 20 : 10)\nlist.m3u8?\($0)\n" }.joined()
        }
        let isLacking = CallCounter()
        site.put(master(["low", "high"]), at: "/talk/master.m3u8")
        site.answer(StreamSite.list) { request in
            let query = request.target.hasSuffix("high") ? "high" : "low"
            return .text(TestStream.playlist((0..<8).map { TestStream.entry("\($0).ts?\(query)") }))
        }
        for number in film.segments.indices {
            let (high, low) = (film.segments[number], other.segments[number])
            site.answer("/talk/\(number).ts") { request in
                if number == 6, isLacking.next() == 1 { return .empty(404, "Not Found") }
                return TestContent(request.target.hasSuffix("high") ? high : low).resource(etag: nil).reply(to: request)
            }
        }
        try await site.run { rig in
            _ = try await rig.failure(of: try rig.film("/talk/master.m3u8"))
            #expect(rig.server.requests.map(\.target).contains("/talk/0.ts?high"))
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film("/talk/master.m3u8") { $0.variant = "smallest" }).result()
            }
            #expect(try rig.holdsOnly(other.content))
        }
    }

    /// Another server behind the redirect of each run.
    @Test func goesOnIfAnotherServerHasThePlaylist() async throws {
        let site = StreamSite(film)
        site.remove("/talk/3.ts")
        let readings = CallCounter()
        site.answer("/watch.m3u8") { _ in .redirect(to: "/node\(readings.next())/list.m3u8") }
        for node in 1...2 {
            site.put(
                TestStream.playlist(film.segments.indices.map { TestStream.entry("/talk/\($0).ts") }),
                at: "/node\(node)/list.m3u8"
            )
        }
        try await site.run { rig in
            _ = try await rig.failure(of: try rig.film("/watch.m3u8"))
            let asked = rig.server.requests.count
            site.put(film.segments[3], at: "/talk/3.ts")
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film("/watch.m3u8")).result()
            }
            #expect(try rig.holdsOnly(film.content))
            #expect(rig.paths(from: asked) == ["/watch.m3u8", "/node2/list.m3u8", "/talk/3.ts"])
        }
    }

    // MARK: Gaps

    @Test func refusesAGapAndKeepsTheRest() async throws {
        let site = StreamSite(film)
        site.put(list(gap: 4), at: StreamSite.list)
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film())
            #expect(error.code == .incompleteStream && error.message.contains("number 4"))
            #expect(try rig.holdsOnlyPart())
            #expect(rig.paths().sorted() == ([StreamSite.list] + others(than: 4)).sorted())
        }
    }

    @Test func leavesOutAGapThatIsAllowed() async throws {
        let site = StreamSite(film)
        site.put(list(gap: 4), at: StreamSite.list)
        try await site.run { rig in
            let made = try await rig.download(try rig.film { $0.allowsGaps = true })
            let rest = film.segments.enumerated().filter { $0.offset != 4 }.flatMap(\.element)
            #expect(try rig.holdsOnly(TestContent(rest)))
            #expect(made.gaps.count == 1)
            #expect(made.gaps.first?.contains(" s from segment 4 on: the playlist marks it as missing") == true)
            // A later run of the program tells the same.
            try await rig.reopened { later async throws in
                #expect(try await later.find(id: made.id)?.snapshot.gaps == made.gaps)
                #expect(try await later.add(try rig.film { $0.allowsGaps = true }).result().gaps == made.gaps)
            }
        }
    }

    @Test func leavesOutASegmentThatIsMissingForGoodIfGapsAreAllowed() async throws {
        let site = StreamSite(film)
        site.remove("/talk/0.ts")
        try await site.run { rig in
            let made = try await rig.download(try rig.film { $0.allowsGaps = true })
            #expect(try rig.holdsOnly(TestContent(film.segments.dropFirst().flatMap(\.self))))
            #expect(made.gaps.count == 1 && made.gaps.first?.contains("from segment 0 on: ") == true)
        }
    }

    @Test func takesNoFilmWithGapsForAWholeOne() async throws {
        let site = StreamSite(film)
        site.remove("/talk/2.ts")
        try await site.run { rig in
            let rest = film.segments.enumerated().filter { $0.offset != 2 }.flatMap(\.element)
            try await rig.download(try rig.film { $0.allowsGaps = true })
            site.put(film.segments[2], at: "/talk/2.ts")
            // The file with gaps is in the place of the whole one, as any other file would be.
            #expect(try await rig.failure(of: try rig.film()).code == .fileExists)
            #expect(try rig.holdsOnly(TestContent(rest)))
            var request = try rig.film()
            request.onConflict = .overwrite
            let made = try await rig.download(request)
            #expect(try rig.holdsOnly(film.content))
            #expect(made.gaps.isEmpty)
        }
    }

    /// Some servers answer 403 for a stretch of segments that they do not have any more.
    @Test func leavesOutNeighboursThatTheServerRefusesIfGapsAreAllowed() async throws {
        let site = StreamSite(film)
        for number in 2...5 { site.answer("/talk/\(number).ts") { _ in .empty(403, "Forbidden") } }
        try await site.run { rig in
            let made = try await rig.download(try rig.film { $0.allowsGaps = true })
            let rest = film.segments.enumerated().filter { !(2...5).contains($0.offset) }.flatMap(\.element)
            #expect(try rig.holdsOnly(TestContent(rest)))
            #expect(made.gaps.count == 1)
            #expect(made.gaps.first?.contains("in 4 gaps, from segment 2, 3, 4 and 5 on: ") == true)
        }
    }

    @Test func isNoFilmWithoutASegment() async throws {
        let site = StreamSite(film)
        for number in film.segments.indices { site.remove("/talk/\(number).ts") }
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film { $0.allowsGaps = true })
            #expect(error.code == .incompleteStream)
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    /// An empty answer to a segment must not count as an empty file.
    @Test(arguments: [203, 204, 206]) func takesNoAnswerToASegmentForTheFile(_ status: Int) async throws {
        let site = StreamSite(film)
        site.answer("/talk/0.ts") { _ in .empty(status, "Odd", headers: [("Content-Range", "bytes 0-0/1")]) }
        try await site.run(configure: { $0.retry.attempts = 0 }) { rig in
            _ = try await rig.failure(of: try rig.film())
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    /// These statuses concern a version or a range of the segment, not of the film.
    @Test(arguments: [412, 416]) func keepsWhatIsThereIfASegmentHasNoRange(_ status: Int) async throws {
        let site = StreamSite(film)
        site.answer("/talk/3.ts") { _ in .empty(status, "Odd", headers: [("Content-Range", "bytes */100")]) }
        try await site.run(configure: { $0.retry.attempts = 0 }) { rig in
            _ = try await rig.failure(of: try rig.film())
            site.answer("/talk/3.ts", nil)
            let asked = rig.server.requests.count
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(film.content))
            #expect(rig.paths(from: asked) == [StreamSite.list, "/talk/3.ts"])
        }
    }

    // MARK: Delays that a server asks for

    @Test func waitsAsLongAsTheServerAsksBeforeTheNextAttemptAtASegment() async throws {
        let site = StreamSite(film)
        let asked = Mutex<[ContinuousClock.Instant]>([])
        site.answer("/talk/3.ts") { request in
            let count = asked.withLock { asked in
                asked.append(.now)
                return asked.count
            }
            return count > 1 ? site.file(request) : .empty(503, "Busy", headers: [("Retry-After", "2")])
        }
        try await site.run { rig in
            try await rig.download(try rig.film())
            #expect(try rig.holdsOnly(film.content))
            let times = asked.withLock { $0 }
            #expect(times.count == 2 && times[1] - times[0] >= .seconds(2))
        }
    }

    @Test func endsTheAttemptIfTheServerAsksForALongDelay() async throws {
        let site = StreamSite(film)
        site.answer("/talk/3.ts") { _ in .empty(429, "Too Many Requests", headers: [("Retry-After", "3600")]) }
        try await site.run(configure: { $0.retry.attempts = 0 }) { rig in
            let error = try await rig.failure(of: try rig.film())
            #expect(error.status == 429)
            #expect(rig.paths().count { $0 == "/talk/3.ts" } == 1)
            #expect(try rig.holdsOnlyPart())
        }
    }
}
