import Testing

@testable import HaulCore

struct StreamRecordTests {
    @Test(arguments: [StreamRecord.Kind.filler, .film, .section, .bytes, .end, .gap])
    func readsTheHeadThatItWrites(_ kind: StreamRecord.Kind) {
        let record = StreamRecord(kind, track: 255, number: .max - 5, attempt: .max, length: .max)
        #expect(record.head.count == StreamRecord.headLength)
        #expect(StreamRecord(head: record.head[...]) == record)
    }

    @Test func readsNoHeadWithAWrongByte() {
        let head = StreamRecord(.bytes, track: 1, number: 7, attempt: 3, length: 9).head
        for index in head.indices {
            var wrong = head
            wrong[index] ^= 0x10
            #expect(StreamRecord(head: wrong[...]) == nil)
        }
        #expect(StreamRecord(head: head.dropLast()) == nil && StreamRecord(head: []) == nil)
    }

    @Test func readsAHeadInTheMiddleOfBytes() {
        let record = StreamRecord(.end, track: 1, number: 7, attempt: 3, length: 9)
        let bytes = [1, 2, 3] + record.head + [4]
        #expect(StreamRecord(head: bytes[3..<27]) == record)
    }

    @Test func checksPayloads() {
        let whole = StreamRecord.whole(.section, number: 2, [1, 2, 3])
        let payload = Array(whole.dropFirst(StreamRecord.headLength))
        #expect(StreamRecord.payload(payload) == [1, 2, 3])
        for index in payload.indices {
            var wrong = payload
            wrong[index] ^= 1
            #expect(StreamRecord.payload(wrong) == nil)
        }
        #expect(StreamRecord.payload([]) == nil && StreamRecord.payload([0, 0, 0, 0]) == nil)
        #expect(StreamRecord.payload([UInt8](repeating: 0, count: payload.count)) == nil)
    }

    /// A cut-off head becomes a head that names no more bytes than the one that was to be written.
    @Test func completesAHeadThatACrashCutOff() throws {
        let record = StreamRecord(.bytes, track: 3, number: 0x1_0203_0405, attempt: 0x0102, length: 0x0304_0506)
        for count in 0..<StreamRecord.headLength {
            let front = Array(record.head.prefix(count))
            let whole = front + StreamRecord.completing(front)
            #expect(whole.count == StreamRecord.headLength)
            let completed = try #require(StreamRecord(head: whole[...]))
            #expect(completed.length <= record.length)
            if count < 3 { #expect(completed.kind == .filler && completed.length == 0) }
            if count >= 20 { #expect(completed == record) }
        }
    }

    @Test func keepsTheFactsOfASegment() {
        let ends = [
            StreamSegmentEnd(section: 3, discontinuity: 9, seconds: 4.25, length: .max, identity: .max),
            StreamSegmentEnd(seconds: 0, length: 0, identity: 0, reason: ""),
            StreamSegmentEnd(seconds: 4, length: 0, identity: 7, reason: "the list moved on — ü"),
        ]
        for end in ends { #expect(StreamSegmentEnd(bytes: end.bytes) == end) }
        #expect(StreamSegmentEnd(bytes: []) == nil)
        #expect(StreamSegmentEnd(bytes: [UInt8](repeating: 0xFF, count: 40)) == nil)
    }

    @Test func keepsTheVersionsOfASegment() {
        var end = StreamSegmentEnd(section: 3, seconds: 4, length: 9, identity: 7)
        (end.key, end.file, end.isFramed) = (.max, 1, false)
        #expect(StreamSegmentEnd(bytes: end.bytes) == end)
        // A log of an earlier version has none of these.
        let early = StreamSegmentEnd(bytes: Array(end.bytes.prefix(41)))
        #expect(early == StreamSegmentEnd(section: 3, seconds: 4, length: 9, identity: 7))
        #expect(
            StreamSegmentEnd.digest([1, 2]) != StreamSegmentEnd.digest([2, 1]) && StreamSegmentEnd.digest([]) != 0
        )
    }

    @Test func keepsTheProgramsOfASegment() {
        let streams = [
            SegmentPrograms.Stream(packetID: 0x1ffe, type: 0x1b, isPicture: true),
            SegmentPrograms.Stream(packetID: 0x101, type: 0x0f, isPicture: false),
        ]
        let stretches = [
            SegmentPrograms.Stretch(start: 0, association: 0, streams: streams),
            SegmentPrograms.Stretch(start: 376, association: 188, streams: []),
        ]
        var end = StreamSegmentEnd(seconds: 4, length: 9, identity: 7)
        for programs in [
            SegmentPrograms(stretches: stretches, pictures: 25, leadingPictures: 3), SegmentPrograms(pictures: 0),
            SegmentPrograms(),
        ] {
            end.programs = programs
            #expect(StreamSegmentEnd(bytes: end.bytes) == end)
        }
        end.programs = SegmentPrograms(stretches: stretches, pictures: 25)
        // A log of an earlier version ends before the programs. Bytes that are cut off are none.
        for count in 41..<end.bytes.count {
            #expect(StreamSegmentEnd(bytes: Array(end.bytes.prefix(count)))?.programs == nil)
        }
        end.programs = SegmentPrograms(stretches: stretches.reversed(), pictures: 25)
        #expect(StreamSegmentEnd(bytes: end.bytes)?.programs == nil)
        end.programs = SegmentPrograms(stretches: [.init(start: 0, association: -1, streams: [])])
        #expect(StreamSegmentEnd(bytes: end.bytes)?.programs == nil)
    }

    @Test func keepsTheFilm() throws {
        let film = StreamFilm(
            tracks: [.init(.main), .init(.audio, language: "de", name: "Deutsch")],
            version: "main-8-0a",
            isLive: false,
            container: .transportStream,
            allowsGaps: true,
            segments: [8, 9]
        )
        #expect(StreamFilm(json: try film.json()) == film)
        #expect(StreamFilm(json: Array("{}".utf8)) == nil && StreamFilm(json: []) == nil)
        #expect(film.entityTag == "\"haul-stream-main-8-0a\"")
    }
}
