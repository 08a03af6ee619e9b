import Testing

@testable import HaulCore

/// Media by its bytes while they arrive (rule 20).
struct SegmentMediaWatchTests {
    private static let pieces = [1, 7, 187, 188, 4096, 100_000]

    private func packets(_ count: Int) -> [UInt8] {
        (0..<count).flatMap { _ in [0x47] + [UInt8](repeating: 1, count: 187) }
    }

    private func box(_ type: String, _ body: Int) -> [UInt8] {
        let size = body + 8
        return (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + Array(type.utf8)
            + [UInt8](repeating: 0, count: body)
    }

    /// Returns the reason why bytes in pieces of a length are no media.
    private func reason(_ bytes: [UInt8], pieces length: Int) -> String? {
        var watch = SegmentMedia.Watch()
        for start in stride(from: 0, to: bytes.count, by: length) {
            if let reason = watch.take(bytes[start..<min(start + length, bytes.count)]) { return reason }
        }
        return watch.finish()
    }

    @Test(arguments: pieces) func passesMedia(_ length: Int) {
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4]
        let good = [
            packets(1), packets(300), box("styp", 8) + box("moof", 100) + box("mdat", 50_000),
            box("moof", 100) + box("mdat", 20) + box("moof", 100) + box("mdat", 40_000),
            tag + [0xFF, 0xF1, 0x50, 0x80] + [UInt8](repeating: 3, count: 30_000), Array("WEBVTT\n\n".utf8),
        ]
        for bytes in good { #expect(reason(bytes, pieces: length) == nil) }
    }

    @Test func refusesAFragmentForWhichThePlaylistNamesNoInitializationSection() {
        let fragment = box("styp", 8) + box("moof", 100) + box("mdat", 50_000)
        for (bytes, isMedia) in [(fragment, false), (packets(300), true)] {
            var watch = SegmentMedia.Watch(hasSection: false)
            let reason = watch.take(bytes) ?? watch.finish()
            #expect((reason == nil) == isMedia)
        }
    }

    @Test(arguments: pieces) func findsAHoleInASegmentOfStuffingThatLasts(_ length: Int) {
        let tables = TestPackets.tables([(0x1b, 0x100)])
        let stuffing = (0..<300).flatMap { _ in TestPackets.null }
        func isHole(_ bytes: [UInt8], seconds: Double) -> Bool {
            var watch = SegmentMedia.Watch(seconds: seconds)
            for start in stride(from: 0, to: bytes.count, by: length) {
                #expect(watch.take(bytes[start..<min(start + length, bytes.count)]) == nil)
            }
            #expect(watch.finish() == nil)
            return watch.isHole
        }
        for bytes in [stuffing, tables, tables + stuffing] {
            #expect(isHole(bytes, seconds: 1))
            #expect(!isHole(bytes, seconds: 0.04))
            #expect(!isHole(bytes + TestPackets.picture(0x100, at: 0), seconds: 1))
        }
    }

    @Test func readsTheProgramsOfATransportStreamOnly() {
        let segment = TestPackets.tables([(0x1b, 0x100)]) + TestPackets.picture(0x100, at: 0)
        for (bytes, pictures) in [(segment, 1), (box("moof", 100) + box("mdat", 20), nil)] as [([UInt8], Int?)] {
            var watch = SegmentMedia.Watch()
            #expect(watch.take(bytes) == nil && watch.finish() == nil)
            #expect(watch.programs?.pictures == pictures)
        }
    }

    @Test(arguments: pieces) func findsAPacketThatIsNoneFarBehind(_ length: Int) {
        var bytes = packets(300)
        bytes[188 * 250] = 0
        #expect(reason(bytes, pieces: length) == "its transport stream breaks off at byte 47000")
    }

    @Test(arguments: pieces) func findsAnEndWithinAPacket(_ length: Int) {
        #expect(reason(Array(packets(300).dropLast()), pieces: length) == "its transport stream ends within a packet")
        #expect(reason(Array(packets(3).dropLast()), pieces: length) == "its transport stream ends within a packet")
    }

    @Test(arguments: pieces) func findsAnEndWithinABox(_ length: Int) {
        let bytes = box("moof", 100) + box("mdat", 50_000)
        #expect(reason(Array(bytes.dropLast()), pieces: length) == "its last box is not whole")
        #expect(reason(bytes + [0, 0, 0], pieces: length) == "its last box is not whole")
        #expect(reason(Array(box("moof", 100).dropLast()), pieces: length) != nil)
    }

    @Test(arguments: pieces) func findsImpossibleBoxesFarBehind(_ length: Int) {
        let front = box("moof", 100) + box("mdat", 30_000)
        let tooShort: [UInt8] = [0, 0, 0, 3] + Array("mdat".utf8)
        let endless: [UInt8] = [0, 0, 0, 1] + Array("mdat".utf8) + [UInt8](repeating: 0xFF, count: 8)
        for end in [tooShort, endless] { #expect(reason(front + end, pieces: length) != nil) }
    }

    @Test(arguments: pieces) func saysWhatCameInPlaceOfMedia(_ length: Int) {
        #expect(reason([], pieces: length) == "it is empty")
        #expect(reason(Array("<html>".utf8), pieces: length) == "it is a page of text, not media")
        let page = Array(("<html>" + String(repeating: "word ", count: 8000)).utf8)
        #expect(reason(page, pieces: length) == "it is a page of text, not media")
    }

    @Test func judgesAnyBytes() {
        var generator = SplitMix64(seed: 29)
        let heads: [[UInt8]] = [[], [0x47], box("moof", 8), box("styp", 0), [0, 0, 0, 1] + Array("moof".utf8), [0xFF]]
        for _ in 0..<100 {
            var bytes = heads.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 0...20_000, using: &generator) {
                bytes.append(UInt8.random(in: 0...255, using: &generator))
            }
            let length = Int.random(in: 1...9000, using: &generator)
            _ = reason(bytes, pieces: length)
        }
    }
}
