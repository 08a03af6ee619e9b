import Testing

@testable import HaulCore

/// Live reload (rule 24). Segments have 4 seconds.
struct LivePlanTests {
    private func playlist(_ first: Int64, _ count: Int64, end: Bool = false, _ change: (String) -> String = { $0 })
        throws
        -> MediaPlaylist
    {
        try PlaylistText.media(change(PlaylistText.segments(first, count, end: end)))
    }

    private func at(_ seconds: Int) -> Instant { Instant(sinceStart: .seconds(seconds)) }

    @Test func fetchesEachSegmentOnce() throws {
        var plan = LivePlan(from: .start)
        var numbers: [Int64] = []
        for first in 0..<20 as Range<Int64> {
            numbers += try plan.handle(.playlist(playlist(first, 5), at: at(Int(first) * 4))).segments.map(\.number)
        }
        #expect(numbers == Array(0..<24) && plan.seconds == 96)
    }

    @Test func waitsATargetDurationAndHalfOfItAfterNoChange() throws {
        var plan = LivePlan(from: .start)
        #expect(try plan.handle(.playlist(playlist(0, 3), at: at(0))).next == .reload(after: .seconds(4)))
        #expect(try plan.handle(.playlist(playlist(0, 3), at: at(4))).next == .reload(after: .seconds(2)))
        #expect(try plan.handle(.playlist(playlist(1, 3), at: at(6))).next == .reload(after: .seconds(4)))
        let zero = try playlist(2, 3) { $0.replacing("DURATION:4", with: "DURATION:0") }
        #expect(try plan.handle(.playlist(zero, at: at(10))).next == .reload(after: .milliseconds(500)))
    }

    @Test func beginsThreeTargetDurationsBeforeTheEnd() throws {
        var plan = LivePlan(from: .now)
        #expect(try plan.handle(.playlist(playlist(10, 8), at: at(0))).segments.map(\.number) == [15, 16, 17])
        var short = LivePlan(from: .now)
        #expect(try short.handle(.playlist(playlist(10, 2), at: at(0))).segments.map(\.number) == [10, 11])
        var ended = LivePlan(from: .now)
        #expect(try ended.handle(.playlist(playlist(10, 8, end: true), at: at(0))).segments.count == 8)
    }

    @Test(arguments: [
        ("-5", [16, 17]), ("0", Array(10...17)), ("9", Array(12...17)), ("999", [17]), ("-999", Array(10...17)),
    ])
    func beginsWhereThePlaylistSays(_ offset: String, _ numbers: [Int64]) throws {
        var plan = LivePlan(from: .now)
        let playlist = try playlist(10, 8) { $0 + "\n#EXT-X-START:TIME-OFFSET=\(offset)" }
        #expect(try plan.handle(.playlist(playlist, at: at(0))).segments.map(\.number) == numbers)
    }

    @Test func recordsAJumpAsAGap() throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(0, 3), at: at(0)))
        let step = try plan.handle(.playlist(playlist(7, 3), at: at(20)))
        #expect(step.gaps == [StreamGap(track: .main, numbers: 3...6, seconds: 16, reason: .missed)])
        #expect(step.segments.map(\.number) == [7, 8, 9])
        #expect(plan.seconds == 40)
    }

    @Test func recordsASegmentThatTheServerLacks() throws {
        var plan = LivePlan(from: .start)
        let step = try plan.handle(
            .playlist(
                playlist(0, 3) { $0.replacing("#EXTINF:4,\n1.ts", with: "#EXT-X-GAP\n#EXTINF:4,\n1.ts") },
                at: at(0)
            )
        )
        #expect(step.segments.map(\.number) == [0, 2])
        #expect(step.gaps == [StreamGap(track: .main, numbers: 1...1, seconds: 4, reason: .declared)])
    }

    @Test(arguments: ["x/2.ts", "2.ts\n", "#EXT-X-BYTERANGE:5@0\n2.ts"])
    func stopsAtAnotherSegmentOfTheSameNumber(_ uri: String) throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(0, 3), at: at(0)))
        let other = try playlist(1, 3) { $0.replacing("2.ts", with: uri) }
        if uri == "2.ts\n" {
            #expect(try plan.handle(.playlist(other, at: at(4))).segments.map(\.number) == [3])
        } else {
            #expect(throws: StreamError.contradiction(number: 2)) { try plan.handle(.playlist(other, at: at(4))) }
        }
    }

    @Test func letsSignaturesChange() throws {
        var plan = LivePlan(from: .start)
        for turn in 0..<3 as Range<Int64> {
            let signed = try playlist(turn, 3) { $0.replacing(".ts", with: ".ts?s=\(turn)") }
            #expect(try plan.handle(.playlist(signed, at: at(0))).segments.count == (turn == 0 ? 3 : 1))
        }
    }

    @Test func passesOverAnOlderCopyButNotOverAServerThatStaysBack() throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(100, 3), at: at(0)))
        for turn in 0..<10 {
            let step = try plan.handle(.playlist(playlist(90, 3, end: turn == 5), at: at(turn)))
            #expect(step.segments.isEmpty && step.next == .reload(after: .seconds(2)))
        }
        #expect(throws: StreamError.wentBack(to: 92)) { try plan.handle(.playlist(playlist(90, 3), at: at(10))) }
        var other = LivePlan(from: .start)
        _ = try other.handle(.playlist(playlist(100, 3), at: at(0)))
        _ = try other.handle(.playlist(playlist(99, 3), at: at(2)))
        #expect(try other.handle(.playlist(playlist(101, 3), at: at(4))).segments.map(\.number) == [103])
    }

    @Test func endsWithTheList() throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(0, 3), at: at(0)))
        let step = try plan.handle(.playlist(playlist(0, 4, end: true), at: at(4)))
        #expect(step.segments.map(\.number) == [3] && step.next == .ended(.endList))
        #expect(try plan.handle(.playlist(playlist(0, 9), at: at(8))) == LivePlan.Step(next: .ended(.endList)))
    }

    @Test func endsAtItsLimit() throws {
        var plan = LivePlan(from: .start, limit: 10)
        let step = try plan.handle(.playlist(playlist(0, 9), at: at(0)))
        #expect(step.segments.count == 3 && step.next == .ended(.limit) && plan.ending == .limit)
        var ownership = LivePlan(from: .start, limit: 10)
        _ = try ownership.handle(.playlist(playlist(0, 1), at: at(0)))
        // One target duration more, in which the last segment is listed.
        #expect(ownership.deadline == at(14))
        #expect(try ownership.handle(.playlist(playlist(0, 1), at: at(13))).next == .reload(after: .seconds(2)))
        #expect(try ownership.handle(.playlist(playlist(0, 1), at: at(14))).next == .ended(.limit))
    }

    @Test func endsAtItsDeadlineWithoutAnAnswer() throws {
        var plan = LivePlan(from: .start, limit: 10)
        #expect(plan.deadline == nil)
        _ = try plan.handle(.playlist(playlist(0, 1), at: at(5)))
        #expect(plan.deadline == at(19))
        #expect(try plan.handle(.reloadFailed(status: nil, at: at(18))).next == .reload(after: .seconds(2)))
        #expect(try plan.handle(.deadline).next == .ended(.limit))
        #expect(LivePlan(from: .start).deadline == nil)
    }

    @Test(arguments: [404, 410]) func endsIfTheServerLacksThePlaylistForAMinute(_ status: Int) throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(0, 3), at: at(0)))
        for second in stride(from: 4, to: 64, by: 4) {
            let step = try plan.handle(.reloadFailed(status: status, at: at(second)))
            #expect(step.next == .reload(after: .seconds(2)))
        }
        #expect(try plan.handle(.reloadFailed(status: status, at: at(64))).next == .ended(.gone))
    }

    @Test func countsTheMinuteFromTheFirstRefusalInSequence() throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(0, 3), at: at(0)))
        _ = try plan.handle(.reloadFailed(status: 404, at: at(4)))
        _ = try plan.handle(.reloadFailed(status: nil, at: at(50)))
        #expect(try plan.handle(.reloadFailed(status: 404, at: at(70))).next == .reload(after: .seconds(2)))
        _ = try plan.handle(.playlist(playlist(1, 3), at: at(80)))
        #expect(try plan.handle(.reloadFailed(status: 404, at: at(135))).next == .reload(after: .seconds(2)))
        #expect(try plan.handle(.reloadFailed(status: 404, at: at(195))).next == .ended(.gone))
    }

    @Test func endsAtTheUsersWord() throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(0, 3), at: at(0)))
        #expect(try plan.handle(.stop).next == .ended(.user))
        #expect(try plan.handle(.reloadFailed(status: 404, at: at(999))).next == .ended(.user))
    }

    @Test func triesAgainForAMinuteBeforeItGivesUp() throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(0, 3), at: at(0)))
        for second in stride(from: 4, to: 60, by: 4) {
            #expect(try plan.handle(.reloadFailed(status: 503, at: at(second))).next == .reload(after: .seconds(2)))
        }
        #expect(throws: StreamError.reloadsFailed(status: 503, seconds: 60)) {
            try plan.handle(.reloadFailed(status: 503, at: at(60)))
        }
        #expect(try plan.handle(.playlist(playlist(1, 3), at: at(61))).segments.map(\.number) == [3])
        #expect(try plan.handle(.reloadFailed(status: nil, at: at(90))).next == .reload(after: .seconds(2)))
    }

    @Test func waitsForTheFirstSegment() throws {
        var plan = LivePlan(from: .now)
        let empty = try PlaylistText.media("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:5")
        #expect(try plan.handle(.playlist(empty, at: at(0))).next == .reload(after: .seconds(2)))
        #expect(try plan.handle(.playlist(playlist(5, 1), at: at(2))).segments.map(\.number) == [5])
    }

    @Test func refusesProtectionThatBeginsInTheMiddle() throws {
        var plan = LivePlan(from: .start)
        _ = try plan.handle(.playlist(playlist(0, 3), at: at(0)))
        let protected = try playlist(1, 3) {
            $0.replacing("#EXTINF:4,\n3.ts", with: "#EXT-X-KEY:METHOD=X\n#EXTINF:4,\n3.ts")
        }
        #expect(throws: StreamError.self) { try plan.handle(.playlist(protected, at: at(4))) }
    }

    @Test func buildsATrackAsItComes() throws {
        var plan = LivePlan(from: .start)
        var track = TrackPlan(liveTrack: .main)
        for first in 0..<4 as Range<Int64> {
            let step = try plan.handle(.playlist(playlist(first, 3), at: at(0)))
            for segment in step.segments { track.append(segment) }
            for gap in step.gaps { track.note(gap) }
        }
        #expect(track.parts.map(\.segments) == [Array(0..<6)] && track.seconds == 24)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func missesNothingWithoutSayingSo(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var plan = LivePlan(from: .start)
        var first: Int64 = 0
        var covered: [Int64] = []
        for turn in 0..<30 {
            if Int.random(in: 0..<5, using: &generator) == 0 {
                _ = try plan.handle(.reloadFailed(status: 503, at: at(turn)))
                continue
            }
            let isStale = turn > 0 && Int.random(in: 0..<5, using: &generator) == 0
            if !isStale { first += Int64.random(in: 0...7, using: &generator) }
            let from = isStale ? max(0, first - 9) : first
            let step = try plan.handle(.playlist(playlist(from, 5), at: at(turn)))
            let numbers = (step.gaps.flatMap { Array($0.numbers) } + step.segments.map(\.number)).sorted()
            covered += numbers
        }
        let begin = try #require(covered.first)
        #expect(covered == Array(begin..<begin + Int64(covered.count)))
        #expect(plan.seconds == Double(covered.count) * 4)
    }
}
