import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Logs that a crash cut off at any byte.
struct StreamLogReaderTests {
    private static let film = StreamFilm(
        tracks: [.init(.main)],
        version: "1",
        isLive: false,
        container: .mp4,
        allowsGaps: true
    )

    private final class Longest: Sendable {
        private let state = Mutex(0)
        var count: Int { state.withLock { $0 } }
        func note(_ count: Int) { state.withLock { $0 = max($0, count) } }
    }

    private struct Piece {
        let bytes: [UInt8]
        /// Number of the segment that is whole behind this piece; `nil` for none.
        var ends: Int64?
    }

    private func bytes(_ number: Int64, _ attempt: UInt32, _ payload: [UInt8]) -> Piece {
        let record = StreamRecord(.bytes, number: number, attempt: attempt, length: UInt32(payload.count))
        return Piece(bytes: record.head + payload)
    }

    private func end(_ number: Int64, _ attempt: UInt32, _ length: Int64, gap: String? = nil) -> Piece {
        let end = StreamSegmentEnd(section: 0, seconds: 4, length: length, identity: 1, reason: gap)
        let kind: StreamRecord.Kind = gap == nil ? .end : .gap
        return Piece(bytes: StreamRecord.whole(kind, number: number, attempt: attempt, end.bytes), ends: number)
    }

    private func pieces() throws -> [Piece] {
        [
            Piece(bytes: StreamRecord.whole(.film, try Self.film.json())),
            Piece(bytes: StreamRecord.whole(.section, [9, 8, 7])), bytes(0, 0, [1, 2, 3]), bytes(1, 1, [4, 5]),
            bytes(0, 0, [6]), end(0, 0, 4), end(1, 1, 2), bytes(3, 2, [7, 7]), end(2, 3, 0, gap: "it is missing"),
            bytes(3, 4, [8, 8, 8]), end(3, 4, 3),
        ]
    }

    private func read(_ log: [UInt8]) throws -> StreamLogReader.Result? {
        try StreamLogReader.read(Int64(log.count)) { (offset, count) throws(DiskError) in
            Array(log[min(Int(offset), log.count)..<min(Int(offset) + count, log.count)])
        }
    }

    private func isNoLog(_ bytes: [UInt8]) throws -> Bool { try read(bytes) == nil }

    private func segment(_ number: Int64, _ log: StreamLog, _ bytes: [UInt8]) -> [UInt8]? {
        log.segment(number, of: 0)?.ranges.flatMap { bytes[Int($0.lowerBound)..<Int($0.upperBound)] }
    }

    @Test func readsALog() throws {
        let bytes = try pieces().flatMap(\.bytes)
        let found = try #require(try read(bytes))
        #expect(found.completion == .init() && found.log.film == Self.film)
        #expect(segment(0, found.log, bytes) == [1, 2, 3, 6] && segment(1, found.log, bytes) == [4, 5])
        #expect(segment(3, found.log, bytes) == [8, 8, 8] && found.log.segment(2, of: 0)?.isGap == true)
        #expect(found.log.nextAttempt == 5 && found.log.end == Int64(bytes.count))
    }

    /// A log that was cut off at any byte and completed reads on, and the new attempt at the cut-off segment counts.
    @Test func goesOnBehindACut() throws {
        let pieces = try pieces()
        let whole = pieces.flatMap(\.bytes)
        for cut in pieces[0].bytes.count..<whole.count {
            let front = Array(whole.prefix(cut))
            let found = try #require(try read(front), "cut at \(cut)")
            var there: Set<Int64> = []
            var position = 0
            for piece in pieces {
                position += piece.bytes.count
                if position <= cut, let number = piece.ends { there.insert(number) }
            }
            #expect(Set((found.log.tracks[0]?.segments ?? [:]).keys) == there, "cut at \(cut)")
            let zeros = [UInt8](repeating: 0, count: Int(found.completion.zeros))
            var log = front + found.completion.head + zeros
            let attempt = found.log.nextAttempt
            for number in 0...3 where !there.contains(Int64(number)) {
                log += bytes(Int64(number), attempt + UInt32(number), [50, UInt8(number)]).bytes
                log += end(Int64(number), attempt + UInt32(number), 2).bytes
            }
            let next = try #require(try read(log), "cut at \(cut)")
            #expect(next.completion == .init() && next.log.end == Int64(log.count), "cut at \(cut)")
            for number in 0...3 where !there.contains(Int64(number)) {
                #expect(segment(Int64(number), next.log, log) == [50, UInt8(number)], "cut at \(cut)")
            }
            if there.contains(0) { #expect(segment(0, next.log, log) == [1, 2, 3, 6], "cut at \(cut)") }
            if there.contains(3) { #expect(segment(3, next.log, log) == [8, 8, 8], "cut at \(cut)") }
        }
    }

    @Test func isNoLogWithoutAWholeFilm() throws {
        let film = try pieces()[0].bytes
        for cut in 0..<film.count { #expect(try isNoLog(Array(film.prefix(cut))), "cut at \(cut)") }
        #expect(try isNoLog(Array("#EXTM3U\n#EXTINF:4,\nsegment.ts\n".utf8)))
    }

    @Test func isNoLogWithAWrongHead() throws {
        let pieces = try pieces()
        var bytes = pieces.flatMap(\.bytes)
        bytes[pieces[0].bytes.count] ^= 1
        #expect(try isNoLog(bytes))
    }

    /// A broken head that passes its check by chance takes no memory.
    @Test func readsNoPayloadOfAnImpossibleLength() throws {
        let film = try pieces()[0].bytes
        let record = StreamRecord(.section, length: 1 << 30)
        let longest = Longest()
        let bytes = film + record.head
        let found = try StreamLogReader.read(1 << 31) { (offset, count) throws(DiskError) in
            longest.note(count)
            let front = Array(bytes[min(Int(offset), bytes.count)..<min(Int(offset) + count, bytes.count)])
            return front + [UInt8](repeating: 0, count: max(0, min(count, 1 << 16) - front.count))
        }
        #expect(found?.log.end == nil)
        #expect(longest.count <= 1 << 20)
    }
}
