import Testing

@testable import HaulCore

struct TransportStreamTests {
    /// A packet with this payload, filled up by an adaptation field.
    private func packet(_ number: UInt16, begins: Bool = true, _ payload: [UInt8]) -> [UInt8] {
        let head = [0x47, UInt8(number >> 8) | (begins ? 0x40 : 0), UInt8(number & 0xff)]
        let filler = 183 - payload.count
        return head + [0x30, UInt8(filler)] + [UInt8](repeating: 0, count: filler) + payload
    }

    private func section(_ table: UInt8, _ body: [UInt8]) -> [UInt8] {
        [table, 0xb0, UInt8(body.count + 9), 0, 1, 0xc1, 0, 0] + body + [0, 0, 0, 0]
    }

    private var programs: [UInt8] { packet(0, [0] + section(0, [0, 1, 0xe0, 0x40])) }

    private func streams(_ types: [(UInt8, UInt16, [UInt8])]) -> [UInt8] {
        let entries = types.flatMap { type, number, descriptors in
            [type, 0xe0 | UInt8(number >> 8), UInt8(number & 0xff), 0xf0, UInt8(descriptors.count)] + descriptors
        }
        return section(2, [0xe1, 0, 0xf0, 0] + entries)
    }

    private func data(_ number: UInt16, at time: UInt64) -> [UInt8] {
        let fields: [UInt8] = [
            0x21 | UInt8(time >> 29 & 0xe), UInt8(time >> 22 & 0xff), UInt8(time >> 14 & 0xfe) | 1,
            UInt8(time >> 7 & 0xff), UInt8(time << 1 & 0xfe) | 1,
        ]
        return packet(number, [0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5] + fields)
    }

    private func check(_ bytes: [UInt8], by step: Int = 188) throws(MediaError) -> TransportStream {
        var stream = TransportStream()
        var position = 0
        while position < bytes.count {
            let end = min(position + step, bytes.count)
            try stream.take(bytes[position..<end])
            position = end
        }
        try stream.finish()
        return stream
    }

    private var film: [UInt8] {
        programs + packet(0x40, [0] + streams([(0x1b, 0x100, []), (0x0f, 0x101, [])]))
            + data(0x100, at: 90_000) + data(0x101, at: 45_000) + data(0x100, at: 180_000)
    }

    private func times(_ bytes: [UInt8]) -> SegmentTimes {
        SegmentTimes(section: nil, length: Int64(bytes.count)) {
            Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)])
        }
    }

    /// A segment with one picture, and with sound that is shorter.
    @Test func leavesTheEndOfASinglePictureToThePlaylist() {
        #expect(times(film).start == 0.5 && times(film).end == 3)
        let tables = programs + packet(0x40, [0] + streams([(0x1b, 0x100, []), (0x0f, 0x101, [])]))
        let still = tables + data(0x100, at: 90_000) + data(0x101, at: 90_000) + data(0x101, at: 99_000)
        #expect(times(still).start == 1 && times(still).end == nil)
        let parts = (0..<3).map {
            StreamTimeline.Part(discontinuity: Int64($0), times: times(still), seconds: 2)
        }
        #expect(StreamTimeline([parts]).begins == [[0, 2, 4]])
    }

    @Test(arguments: [1, 7, 188, 189, 10_000])
    func readsStreamsAndTimesFromPiecesOfAnyLength(_ step: Int) throws {
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 1, 2] + [UInt8](repeating: 0x47, count: 130)
        for bytes in [film, tag + film] {
            let stream = try check(bytes, by: step)
            #expect(stream.packets == 5 && stream.hasSound && stream.hasPicture)
            #expect(stream.streams.map(\.packetID) == [0x100, 0x101])
            #expect(stream.streams.map(\.times) == [90_000...180_000, 45_000...45_000])
        }
    }

    @Test func findsNoSoundWithoutDataOfIt() throws {
        let tables = programs + packet(0x40, [0] + streams([(0x1b, 0x100, []), (0x0f, 0x101, [])]))
        #expect(try !check(tables + data(0x100, at: 0)).hasSound)
        let silent = programs + packet(0x40, [0] + streams([(0x1b, 0x100, [])]))
        #expect(try !check(silent + data(0x100, at: 0)).hasSound)
    }

    @Test func knowsSoundInPrivateDataByItsDescriptor() throws {
        let descriptors: [[UInt8]] = [[0x6a, 1, 0], [0x05, 4] + Array("Opus".utf8)]
        for descriptor in descriptors {
            let tables = programs + packet(0x40, [0] + streams([(0x06, 0x101, descriptor)]))
            #expect(try check(tables + data(0x101, at: 0)).hasSound)
        }
    }

    @Test func readsATableThatGoesOnInTheNextPacket() throws {
        let table = streams([(0x1b, 0x100, []), (0x0f, 0x101, [])])
        let split = packet(0x40, [0] + table.prefix(9)) + packet(0x40, begins: false, Array(table.dropFirst(9)))
        #expect(try check(programs + split).streams.map(\.packetID) == [0x100, 0x101])
    }

    @Test func countsTimesOnWhereTheyStartOver() throws {
        let end: UInt64 = 1 << 33
        let tables = programs + packet(0x40, [0] + streams([(0x1b, 0x100, [])]))
        let stream = try check(tables + data(0x100, at: end - 100) + data(0x100, at: 50))
        let times: ClosedRange<Int64> = ((1 << 33) - 100)...((1 << 33) + 50)
        #expect(stream.streams.map(\.times) == [times])
    }

    @Test func refusesWhatIsNoTransportStream() {
        #expect(throws: MediaError.lostSync(packet: 0)) { try check(Array("<!DOCTYPE html>".utf8)) }
        #expect(throws: MediaError.partialPacket) { try check([]) }
        #expect(throws: MediaError.partialPacket) { try check(Array(film.dropLast())) }
        #expect(throws: MediaError.lostSync(packet: 5)) { try check(film + [UInt8](repeating: 0, count: 188)) }
        #expect(throws: MediaError.noProgram) { try check(data(0x100, at: 0)) }
        #expect(throws: MediaError.lostSync(packet: 0)) {
            try check(Array("ID3".utf8) + [4, 0, 0, 0x7f, 0x7f, 0x7f, 0x7f] + film)
        }
    }

    @Test func acceptsASegmentWhoseTablesAreInTheMap() throws {
        var stream = TransportStream()
        try stream.take(data(0x100, at: 0)[...])
        try stream.finish(needsTables: false)
        #expect(!stream.hasTables)
    }
}
