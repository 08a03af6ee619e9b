import Testing

@testable import HaulCore

struct StreamLogTests {
    /// A log in memory, read record by record.
    private struct Writer {
        var log = StreamLog()
        var bytes: [UInt8] = []

        @discardableResult
        mutating func append(_ record: [UInt8]) throws -> Bool {
            let head = try #require(StreamRecord(head: record.prefix(StreamRecord.headLength)))
            let payload = Array(record.dropFirst(StreamRecord.headLength))
            let isTaken = log.take(head, head.kind.isChecked ? payload : nil)
            if isTaken { bytes += record }
            return isTaken
        }

        @discardableResult
        mutating func put(_ number: Int64, attempt: UInt32, _ payload: [UInt8], track: UInt8 = 0) throws -> Bool {
            let length = UInt32(payload.count)
            let record = StreamRecord(.bytes, track: track, number: number, attempt: attempt, length: length)
            return try append(record.head + payload)
        }

        mutating func end(_ number: Int64, attempt: UInt32, length: Int64, track: UInt8 = 0) throws {
            let end = StreamSegmentEnd(seconds: 4, length: length, identity: UInt64(number) + 1)
            try append(StreamRecord.whole(.end, track: track, number: number, attempt: attempt, end.bytes))
        }

        mutating func gap(_ number: Int64, identity: UInt64) throws {
            let end = StreamSegmentEnd(seconds: 4, length: 0, identity: identity, reason: "it is missing")
            try append(StreamRecord.whole(.gap, number: number, end.bytes))
        }

        /// Bytes of a segment; `nil` for a segment that is not whole.
        func segment(_ number: Int64, track: UInt8 = 0) -> [UInt8]? {
            log.segment(number, of: track)?.ranges.flatMap { bytes[Int($0.lowerBound)..<Int($0.upperBound)] }
        }
    }

    private let film = StreamFilm(
        tracks: [.init(.main), .init(.audio)],
        version: "1",
        isLive: false,
        container: .mp4,
        allowsGaps: false
    )

    private func writer() throws -> Writer {
        var writer = Writer()
        try writer.append(StreamRecord.whole(.film, try film.json()))
        return writer
    }

    @Test func beginsWithTheFilm() throws {
        var writer = Writer()
        let isTaken = try writer.put(1, attempt: 0, [1])
        #expect(!isTaken && writer.log.end == 0)
        try writer.append(StreamRecord.whole(.film, try film.json()))
        #expect(writer.log.film == film && writer.log.end == Int64(writer.bytes.count))
    }

    @Test func hasOneFilm() throws {
        var writer = try self.writer()
        let isTaken = try writer.append(StreamRecord.whole(.film, try film.json()))
        #expect(!isTaken && writer.log.film == film)
    }

    @Test func refusesAFilmThatIsNone() throws {
        var writer = Writer()
        var isTaken = try writer.append(StreamRecord.whole(.film, Array("{}".utf8)))
        #expect(!isTaken)
        var record = StreamRecord.whole(.film, try film.json())
        record[record.count - 1] ^= 1
        isTaken = try writer.append(record)
        #expect(!isTaken)
    }

    @Test func sortsMixedSegments() throws {
        var writer = try self.writer()
        try writer.put(1, attempt: 0, [1, 1])
        try writer.put(2, attempt: 1, [2])
        try writer.put(1, attempt: 2, [9, 9], track: 1)
        try writer.put(1, attempt: 0, [])
        try writer.put(1, attempt: 0, [1])
        #expect(writer.segment(1) == nil)
        try writer.end(1, attempt: 0, length: 3)
        try writer.end(1, attempt: 2, length: 2, track: 1)
        #expect(writer.segment(1) == [1, 1, 1] && writer.segment(1, track: 1) == [9, 9] && writer.segment(2) == nil)
        #expect(writer.log.nextAttempt == 3)
    }

    @Test func countsNoBytesOfAnotherAttempt() throws {
        var writer = try self.writer()
        try writer.put(1, attempt: 0, [8, 8])
        try writer.put(1, attempt: 1, [1])
        try writer.end(1, attempt: 1, length: 1)
        #expect(writer.segment(1) == [1])
        try writer.put(2, attempt: 2, [8])
        try writer.end(2, attempt: 3, length: 1)
        #expect(writer.segment(2) == nil)
    }

    @Test(arguments: [Int64(0), 1, 3]) func wantsTheLengthOfTheEnd(_ length: Int64) throws {
        var writer = try self.writer()
        try writer.put(1, attempt: 0, [1, 1])
        try writer.end(1, attempt: 0, length: length)
        #expect(writer.segment(1) == nil)
    }

    @Test func ignoresAnEndWithAWrongCheck() throws {
        var writer = try self.writer()
        try writer.put(1, attempt: 0, [1])
        let end = StreamSegmentEnd(seconds: 4, length: 1, identity: 2)
        var record = StreamRecord.whole(.end, number: 1, attempt: 0, end.bytes)
        record[record.count - 5] ^= 1
        let isTaken = try writer.append(record)
        #expect(isTaken && writer.segment(1) == nil)
        try writer.end(1, attempt: 0, length: 1)
        #expect(writer.segment(1) == [1])
    }

    @Test func keepsSectionsWithTheirRanges() throws {
        var writer = try self.writer()
        try writer.append(StreamRecord.whole(.section, track: 1, number: 4, [5, 6, 7]))
        let range = try #require(writer.log.tracks[1]?.sections[4])
        #expect(writer.bytes[Int(range.lowerBound)..<Int(range.upperBound)] == [5, 6, 7])
    }

    @Test func replacesAGapBySegmentsThatCameLater() throws {
        var writer = try self.writer()
        try writer.gap(1, identity: 7)
        #expect(writer.log.segment(1, of: 0)?.isGap == true)
        try writer.put(1, attempt: 1, [1])
        try writer.end(1, attempt: 1, length: 1)
        #expect(writer.segment(1) == [1] && writer.log.segment(1, of: 0)?.isGap == false)
    }

    /// A gap that the playlist declares is no segment that it lists.
    @Test func accountsForListedSegments() throws {
        var writer = try self.writer()
        try writer.put(1, attempt: 0, [1])
        try writer.end(1, attempt: 0, length: 1)
        try writer.gap(2, identity: 7)
        try writer.gap(3, identity: 0)
        #expect(writer.log.tracks[0]?.accounted == 2)
    }

    @Test func countsAttemptsToTheLastNumber() throws {
        var writer = try self.writer()
        try writer.put(1, attempt: .max, [1])
        #expect(writer.log.nextAttempt == .max)
        var log = StreamLog()
        log.skipAttempt(of: StreamRecord(.bytes, attempt: 5, length: 1))
        #expect(log.nextAttempt == 6)
    }

    // MARK: Lengths

    /// A film whose pictures have 20 seconds, in segments of a second, with this sound.
    private func log(sound count: Int64, _ track: StreamFilm.Track, gap: Int64? = nil) throws -> StreamLog {
        var film = film
        film.tracks = [.init(.main), track]
        var writer = Writer()
        try writer.append(StreamRecord.whole(.film, try film.json()))
        for (index, count) in [20, count].enumerated() {
            for number in 0..<count {
                let isGap = index == 1 && number == gap
                let end = StreamSegmentEnd(seconds: 1, length: 0, identity: 1, reason: isGap ? "gone" : nil)
                let kind: StreamRecord.Kind = isGap ? .gap : .end
                try writer.append(StreamRecord.whole(kind, track: UInt8(index), number: number, end.bytes))
            }
        }
        return writer.log
    }

    @Test func saysWhichSoundEndsBeforeTheFilm() throws {
        let track = StreamFilm.Track(.audio, language: "de", name: "Deutsch")
        #expect(
            try log(sound: 15, track).shortSounds == [
                "5.0 s at the end of the sound Deutsch (de): it ends after 15.0 s, the film after 20.0 s"
            ]
        )
        let unnamed = try log(sound: 3, StreamFilm.Track(.audio)).shortSounds
        #expect(unnamed == ["17.0 s at the end of the sound: it ends after 3.0 s, the film after 20.0 s"])
    }

    @Test(arguments: [18, 20, 25] as [Int64]) func saysNothingOfSoundThatEndsAboutWithTheFilm(_ count: Int64) throws {
        #expect(try log(sound: count, .init(.audio)).shortSounds.isEmpty)
    }

    @Test func saysNothingOfSubtitlesThatEndEarlyAndOfGapsInTheSound() throws {
        #expect(try log(sound: 3, .init(.subtitles)).shortSounds.isEmpty)
        #expect(try log(sound: 20, .init(.audio), gap: 19).shortSounds.isEmpty)
    }
}
