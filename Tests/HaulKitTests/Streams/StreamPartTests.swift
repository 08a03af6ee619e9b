import Testing

@testable import HaulCore
@testable import HaulKit

/// Parts of a track by the program tables of its segments (rule 21 of `docs/streams.md`).
struct StreamPartTests {
    private static let streams = [
        SegmentPrograms.Stream(packetID: 0x100, type: 0x1b, isPicture: true),
        SegmentPrograms.Stream(packetID: 0x101, type: 0x0f, isPicture: false),
    ]
    private static let others = [
        SegmentPrograms.Stream(packetID: 0x300, type: 0x1b, isPicture: true),
        SegmentPrograms.Stream(packetID: 0x301, type: 0x0f, isPicture: false),
    ]

    private func programs(_ streams: [SegmentPrograms.Stream]) -> SegmentPrograms {
        SegmentPrograms(stretches: [.init(start: 0, association: 0, streams: streams)])
    }

    private func segment(_ place: Int64, _ programs: SegmentPrograms?, discontinuity: Int64 = 0) -> StreamLog.Segment {
        var end = StreamSegmentEnd(discontinuity: discontinuity, seconds: 4, length: 10, identity: 1)
        end.programs = programs
        return StreamLog.Segment(end: end, ranges: [place..<place + 10])
    }

    private func parts(_ segments: [StreamLog.Segment]) -> [StreamAssembly.Part] {
        var track = StreamAssembly.Track(description: .init(.main))
        for segment in segments { track.append(segment, nil) }
        #expect(track.seconds == track.parts.reduce(0) { $0 + $1.seconds })
        return track.parts
    }

    /// A segment without tables belongs to the segment before it, also one of a log of an earlier version.
    @Test func beginsAPartWhereOtherStreamsTakeTheirPlace() {
        let parts = parts([
            segment(0, programs(Self.streams)), segment(10, SegmentPrograms()), segment(20, programs(Self.streams)),
            segment(30, programs(Self.others)), segment(40, nil), segment(50, programs(Self.streams)),
        ])
        #expect(parts.map(\.segments) == [[[0..<10], [10..<20], [20..<30]], [[30..<40], [40..<50]], [[50..<60]]])
        #expect(parts.map(\.isUnannounced) == [false, true, true])
        #expect(parts.map(\.seconds) == [12, 8, 4])
    }

    @Test func beginsOnePartForADiscontinuityWithOtherStreams() {
        let parts = parts([segment(0, programs(Self.streams)), segment(10, programs(Self.others), discontinuity: 1)])
        #expect(parts.map(\.isUnannounced) == [false, false])
    }

    @Test func beginsNoPartInALogWithoutTables() {
        #expect(parts([segment(0, nil), segment(10, nil), segment(20, SegmentPrograms())]).count == 1)
    }

    /// A stream that went does not let another one follow unseen.
    @Test func remembersTheStreamsOfAPart() {
        let pictures = programs([Self.streams[0]])
        let otherSound = programs([Self.streams[0], Self.others[1]])
        #expect(parts([segment(0, programs(Self.streams)), segment(10, pictures), segment(20, otherSound)]).count == 2)
        #expect(parts([segment(10, pictures), segment(20, otherSound)]).count == 1)
    }

    @Test func dividesASegmentWhoseTablesChange() {
        var end = StreamSegmentEnd(seconds: 8, length: 1000, identity: 1)
        end.programs = SegmentPrograms(stretches: [
            .init(start: 0, association: 0, streams: Self.streams),
            .init(start: 500, association: 188, streams: Self.others),
        ])
        let parts = parts([StreamLog.Segment(end: end, ranges: [100..<300, 500..<1300])])
        // The second part begins with the packet that names its tables.
        #expect(
            parts.map(\.segments) == [
                [[100..<300, 500..<800]], [[288..<300, 500..<676, 800..<1300]],
            ]
        )
        #expect(parts.map(\.seconds) == [4, 4] && parts.map(\.isUnannounced) == [false, true])
    }

    @Test func countsThePicturesOfATrack() {
        func pictures(_ counts: [(Int?, Int)]) -> Int? {
            var track = StreamLog.Track()
            for (number, count) in counts.enumerated() {
                let programs = SegmentPrograms(pictures: count.0, leadingPictures: count.1)
                track.segments[Int64(number)] = segment(0, programs)
            }
            let gap = StreamSegmentEnd(seconds: 4, length: 0, identity: 0, reason: "it is missing")
            track.segments[100] = StreamLog.Segment(end: gap, ranges: [])
            return track.pictures
        }
        #expect(pictures([(25, 0), (25, 3), (10, 10)]) == 60)
        // A film begins with the first picture that needs no other.
        #expect(pictures([(0, 0), (25, 25), (25, 3), (25, 5)]) == 47)
        #expect(pictures([(25, 25), (25, 25)]) == nil)
        #expect(pictures([(25, 0), (nil, 0)]) == nil)
        #expect(pictures([(0, 0)]) == nil)
        var track = StreamLog.Track()
        track.segments = [0: segment(0, SegmentPrograms(pictures: 25)), 1: segment(10, nil)]
        #expect(track.pictures == nil)
    }
}
