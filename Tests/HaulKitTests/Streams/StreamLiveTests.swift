import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Rule 24 of `docs/streams.md`: recordings of live streams.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct StreamLiveTests {
    /// A stream of numbered segments. Its playlist has a window of three, which moves by one with each reading.
    private func site(_ window: @escaping @Sendable (_ reading: Int) -> (Range<Int>, ends: Bool)) -> StreamSite {
        let site = StreamSite()
        for number in 0..<40 { site.put(TestStream.segment(number), at: "/talk/\(number).ts") }
        let readings = CallCounter()
        site.answer(StreamSite.list) { _ in
            let (numbers, ends) = window(readings.next())
            let entries = numbers.map { TestStream.entry("\($0).ts", 1) }
            return .text(TestStream.playlist(entries, first: numbers.lowerBound, target: 1, ends: ends))
        }
        return site
    }

    private func content(_ numbers: some Sequence<Int>) -> TestContent {
        TestContent(numbers.flatMap { TestStream.segment($0) })
    }

    private func asked(_ rig: DownloaderRig) -> [String] { rig.paths().filter { $0 != StreamSite.list } }

    private func live(_ rig: DownloaderRig, _ change: (inout DownloadRequest.Stream) -> Void = { _ in }) throws
        -> DownloadRequest
    {
        try rig.film {
            $0.liveStart = .start
            change(&$0)
        }
    }

    @Test func fetchesEachSegmentOfAMovingWindowOnce() async throws {
        try await site { (($0 - 1)..<($0 + 2), ends: $0 >= 5) }.run { rig in
            try await rig.download(try live(rig))
            #expect(try rig.holdsOnly(content(0..<7)))
            #expect(asked(rig) == (0..<7).map { "/talk/\($0).ts" })
        }
    }

    @Test func passesOverAJump() async throws {
        try await site { $0 < 3 ? (0..<3, ends: false) : (10..<13, ends: true) }.run { rig in
            try await rig.download(try live(rig))
            #expect(try rig.holdsOnly(content([0, 1, 2, 10, 11, 12])))
        }
    }

    @Test func goesOnAfterAPlaylistThatCouldNotBeHad() async throws {
        let site = StreamSite()
        for number in 0..<6 { site.put(TestStream.segment(number), at: "/talk/\(number).ts") }
        let readings = CallCounter()
        site.answer(StreamSite.list) { _ in
            let reading = readings.next()
            if reading == 2 || reading == 3 { return .empty(404, "Not Found") }
            let numbers = reading == 1 ? 0..<3 : 0..<6
            let entries = numbers.map { TestStream.entry("\($0).ts", 1) }
            return .text(TestStream.playlist(entries, target: 1, ends: reading > 3))
        }
        try await site.run { rig in
            try await rig.download(try live(rig))
            #expect(try rig.holdsOnly(content(0..<6)))
        }
    }

    /// A site whose playlist gives the number 0 to another segment from its second reading on.
    private func contradictingSite() -> StreamSite {
        let site = StreamSite()
        for name in ["a", "b"] { site.put(TestStream.segment(1), at: "/talk/\(name).ts") }
        let readings = CallCounter()
        site.answer(StreamSite.list) { _ in
            .text(
                TestStream.playlist(
                    [TestStream.entry(readings.next() == 1 ? "a.ts" : "b.ts", 1)],
                    target: 1,
                    ends: false
                )
            )
        }
        return site
    }

    @Test func stopsIfANumberMeansAnotherSegment() async throws {
        try await contradictingSite().run { rig in
            let failure = try await rig.failure(of: try live(rig))
            #expect(failure.code == .invalidStream)
            #expect(try rig.holdsOnlyPart())
        }
    }

    @Test func endsIfANumberMeansAnotherSegmentAndGapsAreAllowed() async throws {
        try await contradictingSite().run { rig in
            try await rig.download(try live(rig) { $0.allowsGaps = true })
            #expect(try rig.holdsOnly(content([1])))
        }
    }

    @Test func endsAtTheLimit() async throws {
        try await site { _ in (0..<6, ends: false) }.run { rig in
            try await rig.download(try live(rig) { $0.liveSeconds = 4 })
            #expect(try rig.holdsOnly(content(0..<4)))
        }
    }

    @Test func isAFileAtTheUsersWord() async throws {
        try await site { _ in (0..<3, ends: false) }.run { rig in
            let download = try await rig.downloader.add(try live(rig))
            await download.reaches(content(0..<3).count)
            await rig.downloader.finishFilm(download.id)
            _ = try await download.result()
            #expect(try rig.holdsOnly(content(0..<3)))
        }
    }

    // MARK: Servers that fall silent

    /// A site whose playlist lists `numbers`; every later reading of it gets no answer.
    private func silentSite(_ numbers: Range<Int>) -> StreamSite {
        let site = StreamSite()
        for number in numbers { site.put(TestStream.segment(number), at: "/talk/\(number).ts") }
        let readings = CallCounter()
        let list = TestStream.playlist(numbers.map { TestStream.entry("\($0).ts", 1) }, target: 1, ends: false)
        site.answer(StreamSite.list) { _ in readings.next() == 1 ? .text(list) : TestReply([.stall]) }
        return site
    }

    @Test func endsAtTheUsersWordWhileAReloadIsNotAnswered() async throws {
        try await silentSite(0..<3).run { rig in
            let download = try await rig.downloader.add(try live(rig))
            await download.reaches(content(0..<3).count)
            while rig.paths().count(where: { $0 == StreamSite.list }) < 2 {
                try await Task.sleep(for: .milliseconds(5))
            }
            await rig.downloader.finishFilm(download.id)
            _ = try await download.result()
            #expect(try rig.holdsOnly(content(0..<3)))
        }
    }

    @Test func endsAtTheLimitWhileAReloadIsNotAnswered() async throws {
        try await silentSite(0..<1).run { rig in
            try await rig.download(try live(rig) { $0.liveSeconds = 2 })
            #expect(try rig.holdsOnly(content(0..<1)))
        }
    }

    /// Takes the time that the last segments get.
    @Test func namesASegmentThatDoesNotComeAfterTheUsersWord() async throws {
        let site = silentSite(0..<3)
        site.answer("/talk/2.ts") { _ in TestReply([.stall]) }
        try await site.run { rig in
            let download = try await rig.downloader.add(try live(rig))
            while !rig.paths().contains("/talk/2.ts") { try await Task.sleep(for: .milliseconds(5)) }
            await rig.downloader.finishFilm(download.id)
            let made = try await download.result()
            #expect(try rig.holdsOnly(content(0..<2)))
            #expect(made.gaps.count == 1)
            #expect(made.gaps.first?.contains("from segment 2 on: The recording ended") == true)
        }
    }

    // MARK: Pauses

    /// Pauses a recording of the segments 0 to 2, and returns what another downloader makes of the rest.
    private func resumed(
        _ site: StreamSite,
        _ list: String,
        _ test: (DownloaderRig, Downloader) async throws -> Void
    ) async throws {
        try await site.run { rig in
            let download = try await rig.downloader.add(try live(rig))
            await download.reaches(try logLength(3))
            try await download.pause()
            #expect(download.snapshot.state == .paused)
            #expect(try rig.holdsOnlyPart())
            site.answer(StreamSite.list) { _ in .text(list) }
            try await rig.reopened { second async throws in try await test(rig, second) }
        }
    }

    /// Length of the log of a live film with `count` segments.
    private func logLength(_ count: Int) throws -> Int64 {
        let film = StreamFilm(
            tracks: [.init(.main)],
            version: "live",
            isLive: true,
            container: .transportStream,
            allowsGaps: true
        )
        var end = StreamSegmentEnd(seconds: 1, length: 0, identity: 0)
        end.programs = SegmentPrograms(pictures: 0)
        let heads = StreamRecord.headLength + StreamRecord.whole(.end, end.bytes).count
        let records = count * (heads + TestStream.segment(0).count)
        return Int64(StreamRecord.whole(.film, try film.json()).count + records)
    }

    private func list(_ numbers: Range<Int>, of prefix: String = "") -> String {
        let entries = numbers.map { TestStream.entry("\(prefix)\($0).ts", 1) }
        return TestStream.playlist(entries, first: numbers.lowerBound, target: 1)
    }

    @Test(arguments: [1..<5, 3..<5, 8..<10]) func goesOnAfterAPause(_ window: Range<Int>) async throws {
        try await resumed(site { _ in (0..<3, ends: false) }, list(window)) { rig, second in
            _ = try await second.add(try live(rig)).result()
            let rest = window.filter { $0 > 2 }
            #expect(try rig.holdsOnly(content([0, 1, 2] + rest)))
            #expect(asked(rig) == ([0, 1, 2] + rest).map { "/talk/\($0).ts" })
        }
    }

    /// Another film under numbers of the recording, and a list that lies behind it.
    @Test(arguments: [1, 20]) func mixesNoOtherStreamIntoARecording(_ first: Int) async throws {
        let site = StreamSite()
        for number in 0..<40 { site.put(TestStream.segment(number), at: "/talk/\(number).ts") }
        for number in 0..<40 { site.put(TestStream.segment(number, seed: 9), at: "/talk/other-\(number).ts") }
        let beginning = TestStream.playlist(
            (first..<first + 3).map { TestStream.entry("\($0).ts", 1) },
            first: first,
            target: 1,
            ends: false
        )
        site.answer(StreamSite.list) { _ in .text(beginning) }
        try await resumed(site, list(1..<3, of: "other-")) { rig, second in
            let error = await #expect(throws: DownloadError.self) {
                try await second.add(try live(rig)).result()
            }
            #expect(error?.code == .invalidStream)
            let holdsOnlyPart = try rig.holdsOnlyPart()
            #expect(holdsOnlyPart)
        }
    }

    // MARK: Recordings that cannot go on

    @Test(arguments: [404, 410]) func endsIfThePlaylistIsGoneAndGapsAreAllowed(_ status: Int) async throws {
        let site = site { _ in (0..<3, ends: false) }
        try await resumed(site, "") { rig, second in
            site.answer(StreamSite.list) { _ in .empty(status, "Gone") }
            _ = try await second.add(try live(rig) { $0.allowsGaps = true }).result()
            let isFilm = try rig.holdsOnly(content(0..<3))
            #expect(isFilm)
        }
    }

    @Test func endsIfThePlaylistIsGoneAndTheLimitIsReached() async throws {
        let site = site { _ in (0..<3, ends: false) }
        try await resumed(site, "") { rig, second in
            site.answer(StreamSite.list) { _ in .empty(404, "Not Found") }
            _ = try await second.add(try live(rig) { $0.liveSeconds = 2 }).result()
            let isFilm = try rig.holdsOnly(content(0..<3))
            #expect(isFilm)
        }
    }

    @Test func keepsARecordingWhosePlaylistIsGone() async throws {
        let site = site { _ in (0..<3, ends: false) }
        try await resumed(site, "") { rig, second in
            site.answer(StreamSite.list) { _ in .empty(404, "Not Found") }
            let error = await #expect(throws: DownloadError.self) {
                try await second.add(try live(rig)).result()
            }
            #expect(error?.status == 404)
            let holdsOnlyPart = try rig.holdsOnlyPart()
            #expect(holdsOnlyPart)
        }
    }

    /// The encoder has begun anew, with other segments.
    @Test func endsIfThePlaylistContradictsTheRecordingAndGapsAreAllowed() async throws {
        let site = site { _ in (0..<3, ends: false) }
        for number in 1..<3 { site.put(TestStream.segment(number, seed: 9), at: "/talk/other-\(number).ts") }
        try await resumed(site, list(1..<3, of: "other-")) { rig, second in
            _ = try await second.add(try live(rig) { $0.allowsGaps = true }).result()
            let isFilm = try rig.holdsOnly(content(0..<3))
            #expect(isFilm)
        }
    }
}
