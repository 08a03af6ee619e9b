import Testing

@testable import HaulCore

/// The program tables of segments, by which rule 21 of `docs/streams.md` finds seams that no playlist announces.
struct SegmentProgramsTests {
    private typealias Stream = SegmentPrograms.Stream
    private typealias Stretch = SegmentPrograms.Stretch

    private static let picture = Stream(packetID: 0x100, type: 0x1b, isPicture: true)
    private static let sound = Stream(packetID: 0x101, type: 0x0f, isPicture: false)
    private static let otherPicture = Stream(packetID: 0x300, type: 0x1b, isPicture: true)
    private static let otherSound = Stream(packetID: 0x301, type: 0x0f, isPicture: false)

    private func programs(_ bytes: [UInt8], pieces length: Int = 10_000) -> SegmentPrograms {
        var scan = ProgramScan()
        for start in stride(from: 0, to: bytes.count, by: length) {
            bytes[start..<min(start + length, bytes.count)].withUnsafeBufferPointer { scan.take($0) }
        }
        return scan.programs
    }

    private func pictures(_ number: UInt16, _ times: [UInt64]) -> [UInt8] {
        times.flatMap { TestPackets.picture(number, at: $0, isEntry: $0 == times[0]) }
    }

    private let film = TestPackets.tables([(0x1b, 0x100), (0x0f, 0x101)])
    private let other = TestPackets.tables([(0x1b, 0x300), (0x0f, 0x301)], map: 0x1100)

    @Test(arguments: [1, 7, 188, 189, 10_000]) func readsPiecesOfAnyLength(_ length: Int) {
        let bytes = film + pictures(0x100, [1, 2, 3]) + TestPackets.null + other + pictures(0x300, [4, 5])
        let found = programs(bytes, pieces: length)
        let start = Int64(6 * TestPackets.length)
        #expect(
            found.stretches == [
                Stretch(start: 0, association: 0, streams: [Self.picture, Self.sound]),
                Stretch(start: start, association: start, streams: [Self.otherPicture, Self.otherSound]),
            ]
        )
        #expect(found.pictures == 5 && found.leadingPictures == 0)
    }

    @Test func findsNoChangeInTablesThatNameTheSame() {
        let same = [
            TestPackets.tables([(0x1b, 0x100), (0x0f, 0x101)], version: 1),
            TestPackets.tables([(0x0f, 0x101), (0x1b, 0x100)]),
            TestPackets.tables([(0x1b, 0x100), (0x0f, 0x101)], map: 0x1100),
            TestPackets.tables([(0x1b, 0x100), (0x0f, 0x101)], program: 2),
            // Metadata and marks of advertisements are left out of the film.
            TestPackets.tables([(0x1b, 0x100), (0x15, 0x102), (0x86, 0x103), (0x0f, 0x101)]),
            // A stream that ends, and one that comes.
            TestPackets.tables([(0x1b, 0x100)]), TestPackets.tables([(0x1b, 0x100), (0x0f, 0x101), (0x0f, 0x102)]),
        ]
        for tables in same {
            let found = programs(film + pictures(0x100, [1]) + tables + film)
            #expect(found.stretches.count == 1 && found.pictures == 1)
        }
    }

    @Test func namesAllStreamsOfAStretch() {
        let more = TestPackets.tables([(0x1b, 0x100), (0x0f, 0x101), (0x0f, 0x301)])
        #expect(programs(film + more + film).stretches.map(\.streams) == [[Self.picture, Self.sound, Self.otherSound]])
    }

    /// Two programs, whose tables come one after the other.
    @Test func findsNoChangeInTheTablesOfSeveralPrograms() {
        let association = TestPackets.association([(1, 0x1000), (2, 0x1100)])
        let maps = [
            TestPackets.map([(0x1b, 0x100), (0x0f, 0x101)]),
            TestPackets.map([(0x1b, 0x300), (0x0f, 0x301)], at: 0x1100, program: 2),
        ]
        let found = programs(association + maps[0] + maps[1] + association + maps[0] + maps[1])
        #expect(
            found.stretches.map(\.streams) == [[Self.picture, Self.sound, Self.otherPicture, Self.otherSound]]
        )
        // ffmpeg says of one of both streams of pictures how many it has written.
        #expect(found.pictures == nil)
    }

    @Test func beginsOneStretchWhereTheTablesOfSeveralProgramsChange() {
        let association = TestPackets.association([(1, 0x1000), (2, 0x1100)])
        func tables(_ first: UInt16, _ second: UInt16) -> [UInt8] {
            association + TestPackets.map([(0x1b, first)])
                + TestPackets.map([(0x0f, second)], at: 0x1100, program: 2)
        }
        let found = programs(tables(0x100, 0x101) + pictures(0x100, [1]) + tables(0x300, 0x301)).stretches
        #expect(
            found.map(\.streams) == [[Self.picture, Self.sound], [Self.otherPicture, Self.otherSound]]
        )
        #expect(found.map(\.start) == [0, Int64(4 * TestPackets.length)])
    }

    @Test func namesThePATOfAPMTThatComesAlone() {
        let bytes = film + pictures(0x100, [1, 2]) + TestPackets.map([(0x24, 0x100), (0x0f, 0x101)])
        let start = Int64(4 * TestPackets.length)
        let picture = Stream(packetID: 0x100, type: 0x24, isPicture: true)
        #expect(
            programs(bytes).stretches.last == Stretch(start: start, association: 0, streams: [picture, Self.sound])
        )
    }

    @Test func leavesOutATableWithAWrongCheckSum() {
        var wrong = TestPackets.map([(0x1b, 0x300)])
        wrong[wrong.count - 1] ^= 1
        #expect(programs(film + wrong).stretches.map(\.streams) == [[Self.picture, Self.sound]])
        #expect(programs(wrong).stretches.isEmpty)
    }

    @Test func boundsTheStretches() {
        let bytes = (0..<100).flatMap { ($0 % 2 == 0 ? film : other) + pictures(0x100, [UInt64($0)]) }
        #expect(programs(bytes).stretches.count == 16)
    }

    // MARK: Pictures

    @Test func countsEachTimeOnce() {
        let bytes = film + pictures(0x100, [1, 1, 2, 2, 3]) + TestPackets.picture(0x101, at: 7)
        #expect(programs(bytes).pictures == 3)
    }

    @Test func countsThePicturesOfASegmentWithoutTables() {
        #expect(programs(pictures(0x300, [1, 2])) == SegmentPrograms(pictures: 2))
        #expect(programs(pictures(0x300, [1, 2]) + pictures(0x100, [1])).pictures == nil)
        #expect(programs(TestPackets.null) == SegmentPrograms(pictures: 0))
    }

    /// Its two fields may be two pictures.
    @Test func countsNoPicturesOfMPEG2() {
        #expect(programs(TestPackets.tables([(0x02, 0x100)]) + pictures(0x100, [1, 2])).pictures == nil)
    }

    @Test func countsThePicturesBeforeTheFirstEntry() {
        func leading(_ type: UInt8, _ bytes: [UInt8]) -> Int {
            let tables = TestPackets.tables([(type, 0x100)])
            let ordinary = (0..<3).flatMap { TestPackets.picture(0x100, at: $0, [0, 0, 1, 0x01, 9, 9]) }
            return programs(tables + ordinary + TestPackets.picture(0x100, at: 7, bytes)).leadingPictures
        }
        #expect(leading(0x1b, [0, 0, 1, 0x09, 0xf0, 0, 0, 1, 0x67, 1]) == 3)
        #expect(leading(0x1b, [0, 0, 1, 0x65, 1]) == 3)
        #expect(leading(0x24, [0, 0, 1, 0x40, 1]) == 3)
        #expect(leading(0x24, [0, 0, 1, 0x26, 1]) == 3)
        // No picture with which a player can begin.
        #expect(leading(0x1b, [0, 0, 1, 0x41, 1]) == 4)
        #expect(leading(0x24, [0, 0, 1, 0x02, 1]) == 4)
        let marked = film + TestPackets.picture(0x100, at: 1) + TestPackets.picture(0x100, at: 2, isEntry: true)
        #expect(
            programs(marked)
                == SegmentPrograms(
                    stretches: [Stretch(start: 0, association: 0, streams: [Self.picture, Self.sound])],
                    pictures: 2,
                    leadingPictures: 1
                )
        )
    }

    @Test func readsAnyPackets() {
        var generator = SplitMix64(seed: 31)
        for _ in 0..<300 {
            var bytes = film
            for _ in 0..<20 {
                var packet = (0..<TestPackets.length).map { _ in UInt8.random(in: 0...255, using: &generator) }
                if Bool.random(using: &generator) { packet.replaceSubrange(0..<3, with: [0x47, 0x50, 0]) }
                if Bool.random(using: &generator) { packet[3] = 0x10 }
                bytes += packet
            }
            #expect(programs(bytes) == programs(bytes, pieces: Int.random(in: 1...999, using: &generator)))
        }
    }

    // MARK: Segments behind each other

    @Test func continuesWithTheSameStreamsOnly() {
        let known = [Self.picture, Self.sound]
        let goesOn: [[Stream]] = [
            [], known, known.reversed(), [Self.picture], [Self.sound], known + [Self.otherSound],
            [Self.picture, Self.sound, Self.otherPicture],
        ]
        for next in goesOn { #expect(known.isContinued(by: next)) }
        let ends: [[Stream]] = [
            [Self.otherPicture, Self.otherSound], [Self.picture, Self.otherSound], [Self.otherPicture, Self.sound],
            [Stream(packetID: 0x100, type: 0x24, isPicture: true), Self.sound],
            [Stream(packetID: 0x100, type: 0x0f, isPicture: false)],
        ]
        for next in ends { #expect(!known.isContinued(by: next)) }
        #expect(([] as [Stream]).isContinued(by: known))
        #expect([Self.picture].isContinued(by: known))
    }
}
