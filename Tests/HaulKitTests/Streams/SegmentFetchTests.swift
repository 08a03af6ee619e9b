import Crypto
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// One segment over a scripted server: rules 8, 12, 13, 17 and 20 of `docs/streams.md`.
struct SegmentFetchTests {
    /// Gathers the pieces that are passed on.
    private final class Pieces: Sendable {
        private let state = Mutex<[[UInt8]]>([])
        var all: [[UInt8]] { state.withLock { $0 } }
        var bytes: [UInt8] { all.flatMap(\.self) }
        func add(_ piece: WriteBatch) {
            state.withLock { $0.append(piece.buffers.flatMap { Array($0.readableBytesView) }) }
        }
    }

    private static let key = [UInt8](1...16)
    private static let vector = [UInt8](repeating: 0xAB, count: 16)
    private let segment = TestStream.segment(1)

    private func cipher(_ key: [UInt8] = SegmentFetchTests.key) -> SegmentFetch.Cipher {
        .init(key: SymmetricKey(data: key), vector: Self.vector)
    }

    private func encrypted(_ bytes: [UInt8]) -> [UInt8] {
        TestCipher.encrypt(bytes, key: Self.key, vector: Self.vector)
    }

    private func range(_ lower: Int, _ upper: Int) throws -> ByteRange {
        try #require(ByteRange(Int64(lower), Int64(upper)))
    }

    private func fetch(
        _ answer: ScriptedTransport.Answer,
        range: ByteRange? = nil,
        mostBytes: Int64 = .max,
        cipher: SegmentFetch.Cipher? = nil,
        chunk: Int = 1000,
        watch: SegmentMedia.Watch? = SegmentMedia.Watch()
    ) async -> (pieces: [[UInt8]], result: Result<Int64, SegmentFailure>) {
        let pieces = Pieces()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let fetch = SegmentFetch(range: range, mostBytes: mostBytes, cipher: cipher, watch: watch) { piece in
            pieces.add(piece)
            return loop.makeSucceededVoidFuture()
        }
        var request = TransportRequest(
            url: link("http://server.test/1.ts"),
            headers: [],
            allowsInsecureRedirects: false
        )
        if let range { (request.firstByte, request.end) = (range.lower, range.upper) }
        let transport = ScriptedTransport(chunk: chunk) { _, _ in answer }
        let result = await fetch.fetch(request, over: SourceReaders(transport))
        return (pieces.all, result)
    }

    private func failure(_ result: Result<Int64, SegmentFailure>) -> SegmentFailure? {
        if case .failure(let failure) = result { return failure }
        return nil
    }

    private func count(_ result: Result<Int64, SegmentFailure>) -> Int64? {
        if case .success(let count) = result { return count }
        return nil
    }

    private func partial(_ lower: Int, _ upper: Int, _ body: [UInt8]) -> ScriptedTransport.Answer {
        .init(status: 206, headers: [("Content-Range", "bytes \(lower)-\(upper - 1)/100000")], body: body)
    }

    /// With and without a stated length.
    @Test(arguments: [true, false]) func refusesASegmentThatIsLongerThanAny(_ isStated: Bool) async throws {
        let headers = isStated ? [("Content-Length", "\(segment.count)")] : []
        let answer = ScriptedTransport.Answer(status: 200, headers: headers, body: segment)
        let (_, result) = await fetch(answer, mostBytes: Int64(segment.count - 1))
        let error = try #require(failure(result)).decision
        #expect(!error.isWorthRetrying && error.error.message.contains("longer than"))
        let (pieces, whole) = await fetch(answer, mostBytes: Int64(segment.count))
        #expect(count(whole) == Int64(segment.count) && pieces.flatMap(\.self) == segment)
    }

    @Test func namesTheServerThatStoppedSending() async {
        let answer = ScriptedTransport.Answer(body: segment, failure: TransportError(.stalled))
        let (_, result) = await fetch(answer)
        #expect(failure(result)?.decision.error.message == "server.test stopped sending.")
    }

    @Test func boundsASegmentByTheOthers() {
        var counts = StreamProgress.Counts()
        #expect(counts.mostSegmentBytes == 1 << 30)
        (counts.receivedSegments, counts.receivedBytes) = (4, 4 << 20)
        #expect(counts.mostSegmentBytes == 1 << 30)
        counts.receivedBytes = 4 << 30
        #expect(counts.mostSegmentBytes == 64 << 30)
    }

    @Test(arguments: [1, 1000, 100_000]) func passesAWholeSegmentOn(_ chunk: Int) async throws {
        for status in [200, 203] {
            let (pieces, result) = await fetch(.init(status: status, body: segment), chunk: chunk)
            #expect(pieces.flatMap(\.self) == segment && count(result) == Int64(segment.count))
        }
    }

    @Test func passesALongSegmentOnInPieces() async throws {
        let long = TestStream.segment(1, packets: 5000)
        let (pieces, result) = await fetch(.init(body: long), chunk: 10_000)
        #expect(pieces.flatMap(\.self) == long && count(result) == Int64(long.count))
        // The first piece is shorter, so that a player gets it early.
        #expect((256 << 10..<512 << 10).contains(pieces[0].count))
        #expect(pieces.count > 2)
        #expect(pieces.dropFirst().dropLast().allSatisfy { (512 << 10..<768 << 10).contains($0.count) })
    }

    // MARK: Ranges

    @Test func takesExactlyTheRange() async throws {
        let (pieces, result) = await fetch(
            partial(500, 500 + segment.count, segment),
            range: try range(500, 500 + segment.count)
        )
        #expect(pieces.flatMap(\.self) == segment && count(result) == Int64(segment.count))
    }

    @Test(arguments: [1, 1000, 100_000]) func cutsTheRangeOutOfAWholeAnswer(_ chunk: Int) async throws {
        let front = [UInt8](repeating: 5, count: 777)
        let answer = ScriptedTransport.Answer(body: front + segment + front)
        let (pieces, result) = await fetch(answer, range: try range(777, 777 + segment.count), chunk: chunk)
        #expect(pieces.flatMap(\.self) == segment && count(result) == Int64(segment.count))
    }

    @Test func takesNoMoreThanTheRange() async throws {
        let answer = partial(0, segment.count, segment + segment)
        let (pieces, result) = await fetch(answer, range: try range(0, segment.count))
        #expect(pieces.flatMap(\.self) == segment && count(result) == Int64(segment.count))
    }

    @Test func refusesAnotherRange() async throws {
        let wanted = try range(188, 188 + segment.count)
        for (lower, upper) in [(0, segment.count), (188, 187 + segment.count), (188, 189 + segment.count)] {
            let (pieces, result) = await fetch(partial(lower, upper, segment), range: wanted)
            #expect(pieces.isEmpty && failure(result)?.decision.error.code == .malformedResponse)
        }
        let unnamed = ScriptedTransport.Answer(status: 206, body: segment)
        #expect(failure(await fetch(unnamed, range: wanted).result)?.decision.error.code == .malformedResponse)
    }

    @Test func refusesARangeThatNobodyAskedFor() async throws {
        let (pieces, result) = await fetch(partial(0, segment.count, segment))
        #expect(pieces.isEmpty && failure(result)?.decision.error.code == .malformedResponse)
        #expect(failure(result)?.refusal == nil)
    }

    @Test(arguments: [200, 206]) func noticesARangeThatEndsEarly(_ status: Int) async throws {
        var answer = partial(0, segment.count, Array(segment.dropLast(188)))
        answer.status = status
        if status == 200 { answer.headers = [] }
        let (_, result) = await fetch(answer, range: try range(0, segment.count))
        #expect(failure(result)?.decision.isWorthRetrying == true)
    }

    @Test func skipsNoGigabytes() async throws {
        let (_, result) = await fetch(.init(body: segment), range: try range(1 << 30, 1 << 30 + 188))
        let failure = try #require(self.failure(result))
        #expect(failure.decision.error.code == .incompleteStream && !failure.decision.isWorthRetrying)
    }

    // MARK: Decryption

    @Test(arguments: [1, 1000, 100_000]) func decrypts(_ chunk: Int) async throws {
        let (pieces, result) = await fetch(.init(body: encrypted(segment)), cipher: cipher(), chunk: chunk)
        #expect(pieces.flatMap(\.self) == segment && count(result) == Int64(segment.count))
    }

    /// Every length of padding, and every place of the last block in a read.
    @Test func removesThePadding() async throws {
        for length in 1...33 {
            let bytes = [UInt8](repeating: UInt8(length), count: length)
            let (pieces, result) = await fetch(.init(body: encrypted(bytes)), cipher: cipher(), chunk: 16, watch: nil)
            #expect(pieces.flatMap(\.self) == bytes && count(result) == Int64(length))
        }
    }

    @Test(arguments: [1000, 16_384, 100_000]) func decryptsALongSegment(_ chunk: Int) async throws {
        let long = TestStream.segment(1, packets: 2500)
        let (pieces, result) = await fetch(.init(body: encrypted(long)), cipher: cipher(), chunk: chunk)
        #expect(pieces.flatMap(\.self) == long && count(result) == Int64(long.count))
    }

    /// The range is one of encrypted bytes.
    @Test func decryptsARange() async throws {
        let body = encrypted(segment)
        let front = [UInt8](repeating: 5, count: 100)
        let wanted = try range(100, 100 + body.count)
        for answer in [partial(100, 100 + body.count, body), .init(body: front + body + front)] {
            let (pieces, result) = await fetch(answer, range: wanted, cipher: cipher())
            #expect(pieces.flatMap(\.self) == segment && count(result) == Int64(segment.count))
        }
    }

    @Test func refusesALengthThatIsNoMultipleOf16() async throws {
        let body = encrypted(segment)
        for odd in [Array(body.dropLast()), body + [1], []] {
            let (_, result) = await fetch(.init(body: odd), cipher: cipher())
            #expect(failure(result)?.decision.error.code == .incompleteStream)
        }
    }

    @Test func refusesTheWrongKey() async throws {
        let (_, result) = await fetch(.init(body: encrypted(segment)), cipher: cipher([UInt8](2...17)))
        #expect(failure(result)?.decision.error.code == .incompleteStream)
    }

    @Test func refusesACutOffSegment() async throws {
        let (_, result) = await fetch(.init(body: Array(encrypted(segment).dropLast(16))), cipher: cipher())
        #expect(failure(result) != nil)
    }

    @Test func decryptsAWholeBody() throws {
        #expect(try SegmentFetch.decrypted(encrypted([1, 2, 3]), cipher()) == [1, 2, 3])
        for body in [[], [UInt8](repeating: 1, count: 15)] {
            #expect(throws: SegmentFailure.self) { try SegmentFetch.decrypted(body, cipher()) }
        }
        #expect(throws: SegmentFailure.self) {
            try SegmentFetch.decrypted(encrypted([1]), .init(key: SymmetricKey(data: Self.key), vector: []))
        }
    }

    // MARK: Answers

    @Test func tellsStatusesApart() async throws {
        let missing = try #require(failure(await fetch(.init(status: 404)).result))
        #expect(!missing.decision.isWorthRetrying && missing.refusal == nil && !missing.mayBeExpired)
        let refused = try #require(failure(await fetch(.init(status: 403)).result))
        #expect(refused.refusal?.status == 403 && refused.mayBeExpired)
        let busy = try #require(failure(await fetch(.init(status: 503)).result))
        #expect(busy.refusal?.status == 503 && busy.decision.isWorthRetrying)
        for status in [204, 304, 412, 416] {
            #expect(failure(await fetch(.init(status: status)).result)?.refusal == nil)
        }
    }

    @Test func takesNoPagesAndCodingsForMedia() async throws {
        let page = ScriptedTransport.Answer(headers: [("Content-Type", "text/html")], body: segment)
        #expect(failure(await fetch(page).result)?.decision.error.code == .unexpectedWebPage)
        let coded = ScriptedTransport.Answer(headers: [("Content-Encoding", "gzip")], body: segment)
        #expect(failure(await fetch(coded).result)?.decision.error.code == .malformedResponse)
        let text = ScriptedTransport.Answer(body: Array("<html>Please log in.</html>".utf8))
        #expect(failure(await fetch(text).result)?.decision.error.code == .incompleteStream)
        #expect(failure(await fetch(.init()).result)?.decision.error.code == .incompleteStream)
    }

    @Test func failsWithItsConnection() async throws {
        let lost = ScriptedTransport.Answer(body: segment, failure: TransportError(.connectionLost))
        let failure = try #require(self.failure(await fetch(lost).result))
        #expect(failure.decision.error.code == .connectionLost && failure.decision.isWorthRetrying)
    }

    /// A range whose bytes are all there is whole, however the connection ended.
    @Test func keepsARangeWhoseConnectionBrokeBehindIt() async throws {
        var answer = partial(0, segment.count, segment)
        answer.failure = TransportError(.connectionLost)
        let (pieces, result) = await fetch(answer, range: try range(0, segment.count))
        #expect(pieces.flatMap(\.self) == segment && count(result) == Int64(segment.count))
    }

    @Test func endsIfItIsCancelledBeforeItBegins() async throws {
        let segment = segment
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await fetch(.init(body: segment), chunk: 1).result
        }
        #expect(failure(await task.value) != nil)
    }
}
