import Testing

@testable import HaulCore

/// Rule 21 of `docs/streams.md`: one time line for parts with clocks of their own.
struct StreamTimelineTests {
    private func part(_ number: Int64, _ times: ClosedRange<Double>, seconds: Double? = nil) -> StreamTimeline.Part {
        StreamTimeline.Part(
            discontinuity: number,
            times: SegmentTimes(start: times.lowerBound, end: times.upperBound),
            seconds: seconds ?? times.upperBound - times.lowerBound
        )
    }

    @Test func beginsAtNothing() {
        #expect(StreamTimeline([[part(0, 1.5...7.5)]]).begins == [[0]])
        #expect(StreamTimeline([]).begins == [])
    }

    @Test func beginsTheNextNumberWhereThePicturesEnd() {
        let line = StreamTimeline([[part(0, 1.5...7.5), part(1, 100...103), part(2, 0...5)], []])
        #expect(line.begins == [[0, 6, 9], []])
    }

    @Test func keepsAPartOfTheSameNumberAtItsTime() {
        #expect(StreamTimeline([[part(0, 1...3), part(0, 4...6), part(1, 9...10)]]).begins == [[0, 3, 5]])
    }

    /// An advertisement with a clock of its own, and the film behind it.
    @Test(arguments: [0.0, 5000.0]) func goesOnWhereNothingAnnouncesAnotherClock(_ clock: Double) {
        func other(_ times: ClosedRange<Double>) -> StreamTimeline.Part {
            StreamTimeline.Part(
                discontinuity: 0,
                times: SegmentTimes(start: times.lowerBound, end: times.upperBound),
                seconds: times.upperBound - times.lowerBound,
                isUnannounced: true
            )
        }
        let film = [part(0, 10...18), other(clock...clock + 2), other(18...28), part(1, 0...1)]
        #expect(StreamTimeline([film]).begins == [[0, 8, 10, 20]])
    }

    @Test func keepsTheTimeOfAnUnannouncedPartOfTheSameClock() {
        let next = StreamTimeline.Part(
            discontinuity: 0,
            times: SegmentTimes(start: 17.5, end: 20),
            seconds: 2.5,
            isUnannounced: true
        )
        #expect(StreamTimeline([[part(0, 10...18), next]]).begins == [[0, 7.5]])
    }

    /// Sound that begins later than its pictures, and is shorter or longer.
    @Test func beginsSoundAtItsPictures() {
        let pictures = [part(0, 10...16), part(1, 10...13)]
        #expect(StreamTimeline([pictures, [part(0, 10.5...14), part(1, 10.25...13)]]).begins[1] == [0.5, 6.25])
        #expect(StreamTimeline([pictures, [part(0, 10...17), part(1, 10...13)]]).begins[1] == [0, 6])
    }

    @Test func beginsWithSoundThatIsEarlierThanThePictures() {
        let line = StreamTimeline([[part(0, 10...16), part(1, 0...1)], [part(0, 9.5...16), part(1, 0...1)]])
        #expect(line.begins == [[0.5, 6.5], [0, 6.5]])
    }

    /// Sound that lacks the numbers 0 and 2.
    @Test func matchesTracksByNumber() {
        let pictures = [part(0, 1...7), part(1, 0...3), part(2, 4...5), part(3, 2...9)]
        #expect(StreamTimeline([pictures, [part(1, 0...3), part(3, 2...9)]]).begins[1] == [6, 10])
    }

    @Test func takesTheTimeOfSoundForANumberWithoutPictures() {
        #expect(StreamTimeline([[part(0, 0...2), part(2, 0...1)], [part(1, 0...4)]]).begins == [[0, 6], [2]])
    }

    /// Packed sound without a tag, and media that cannot be read.
    @Test func takesTheDurationsOfThePlaylistWhereTheMediaSaysNothing() {
        let unknown = { StreamTimeline.Part(discontinuity: $0, times: SegmentTimes(), seconds: 4) }
        #expect(StreamTimeline([[unknown(0), unknown(1)]]).begins == [[0, 4]])
        #expect(StreamTimeline([[part(0, 5...8), part(1, 2...3)], [unknown(0), unknown(1)]]).begins[1] == [0, 3])
    }

    @Test func goesOnWhereAClockStartsOver() {
        let cycle = SegmentTimes.cycle
        let begins = StreamTimeline([
            [part(0, (cycle - 2)...(cycle + 4)), part(1, 0...1)], [part(0, 1...4), part(1, 0...1)],
        ]).begins
        #expect(begins[0] == [0, 6])
        #expect(begins[1].map { ($0 * 1000).rounded() } == [3000, 6000])
    }

    @Test func hasTheTimesOfSubtitles() {
        let line = StreamTimeline([[part(0, 1.5...7.5), part(2, 100...103)], []])
        #expect(line.film(2, in: 0) == 0.5 && line.film(101, in: 2) == 7)
        // A number that no other track has belongs to the one before it.
        #expect(line.film(2, in: 1) == 0.5)
        #expect(line.film(100_000, in: 0) == 99_998.5)
    }

    /// The clock of fragments has more than 33 bits.
    @Test func countsSubtitlesInTheCycleOfThePictures() {
        let start = 40 * SegmentTimes.cycle + 10
        let line = StreamTimeline([[part(0, start...(start + 6))], []])
        #expect((line.film(12, in: 0) * 1000).rounded() == 2000)
    }
}
