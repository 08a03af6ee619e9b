import Dispatch
import NIOCore
import NIOPosix
import Testing

@testable import HaulCore
@testable import HaulKit

struct SegmentSinkTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.any()

    private func part(_ file: MemoryFile, written: Int64 = 0) -> PartFile {
        PartFile(file, persisted: .init(written: written, synced: written)) {}
    }

    private func finish(_ sink: SegmentSink) async -> WriteFailure? {
        await withCheckedContinuation { continuation in sink.finish { continuation.resume(returning: $0) } }
    }

    /// Passes bytes to the sink, and waits if the sink asks for it.
    private func take(_ bytes: [UInt8], _ sink: SegmentSink) async throws -> SegmentSink.Intake {
        let intake = sink.take(ByteBuffer(bytes: bytes), on: loop)
        if case .wait(let future) = intake { try await future.get() }
        return intake
    }

    @Test(arguments: [0, 100, 4096])
    func batchesOfAFastStreamEndWhereBlocksOfTheFileDo(offset: Int) async throws {
        let body = someBytes(1_000_000, seed: 3)
        let file = MemoryFile(Array(body.prefix(offset)))
        let sink = SegmentSink(
            part(file, written: Int64(offset)),
            at: Int64(offset),
            limit: nil,
            expecting: [],
            batchSize: 100_000
        )
        for start in stride(from: offset, to: body.count, by: 60_000) {
            _ = try await take(Array(body[start..<min(body.count, start + 60_000)]), sink)
        }
        #expect(await finish(sink) == nil)
        #expect(file.bytes == body)
        // On a busy machine the timer may fire first and write an incomplete batch.
        let full = file.writes.dropLast().filter { $0.count >= 60_000 }
        #expect(full.count >= 4)
        #expect(full.count { $0.upperBound % 4096 == 0 } >= full.count - 1, "\(file.writes)")
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func writesTheBodyWhateverItsPieces(_ seed: UInt64) async throws {
        let body = someBytes(300_000, seed: seed)
        var random = SplitMix64(seed: seed)
        let (overlap, offset) = (Int.random(in: 0...20_000, using: &random), 20_000)
        let file = MemoryFile(Array(body.prefix(offset)))
        let part = part(file, written: Int64(offset))
        let sink = SegmentSink(
            part,
            at: Int64(offset),
            limit: seed.isMultiple(of: 2) ? nil : Int64(body.count - offset),
            expecting: Array(body[(offset - overlap)..<offset]),
            batchSize: [1, 1000, 1 << 20].randomElement(using: &random) ?? 1
        )
        var position = offset - overlap
        while position < body.count {
            let longest = Bool.random(using: &random) ? 30 : 30_000
            let end = min(body.count, position + Int.random(in: 0...longest, using: &random))
            guard case .goOn = try await take(Array(body[position..<end]), sink) else {
                position = end
                continue
            }
            position = end
        }
        #expect(await finish(sink) == nil)
        #expect(file.bytes == body && sink.hasComparedAll, "seed \(seed)")
        #expect(part.persisted == .init(written: Int64(body.count), synced: Int64(offset)))
    }

    @Test func cutsWhatIsTooMuch() async throws {
        let file = MemoryFile()
        let part = part(file)
        let sink = SegmentSink(part, at: 0, limit: 10, expecting: [], batchSize: 4)
        guard case .goOn = try await take([1, 2, 3], sink) else {
            Issue.record("does not go on")
            return
        }
        for _ in 0..<2 {
            guard case .enough = try await take(someBytes(50, seed: 1), sink) else {
                Issue.record("takes too much")
                return
            }
        }
        #expect(await finish(sink) == nil)
        #expect(file.bytes == [1, 2, 3] + someBytes(50, seed: 1).prefix(7) && part.persisted.count == 10)
    }

    @Test(arguments: [0, 1, 49, 98])
    func writesNothingWhenTheOverlapDiffers(_ wrong: Int) async throws {
        let there = someBytes(99, seed: 3)
        let file = MemoryFile(there)
        let part = part(file, written: 99)
        let sink = SegmentSink(part, at: 99, limit: nil, expecting: there, batchSize: 1)
        var body = there + [1, 2, 3]
        body[wrong] ^= 0x80
        var hasDiffered = false
        for start in stride(from: 0, to: body.count, by: 17) {
            if case .overlapDiffers = try await take(Array(body[start..<min(start + 17, body.count)]), sink) {
                hasDiffered = true
                break
            }
        }
        #expect(hasDiffered && !sink.hasComparedAll)
        #expect(await finish(sink) == nil)
        #expect(file.bytes == there && part.persisted.count == 99)
    }

    @Test func knowsWhenTheBodyEndedWithinTheOverlap() async throws {
        let sink = SegmentSink(
            part(MemoryFile([1, 2, 3]), written: 3),
            at: 3,
            limit: nil,
            expecting: [1, 2, 3],
            batchSize: 1
        )
        _ = try await take([1, 2], sink)
        #expect(!sink.hasComparedAll)
        _ = try await take([3], sink)
        #expect(sink.hasComparedAll)
    }

    @Test func holdsTheConnectionBackWhileTheDiskIsBehind() async throws {
        let gate = DispatchSemaphore(value: 0)
        let file = MemoryFile { gate.wait() }
        let part = part(file)
        let sink = SegmentSink(part, at: 0, limit: nil, expecting: [], batchSize: 100)
        let piece = ByteBuffer(repeating: 7, count: 100)
        guard case .goOn = sink.take(piece, on: loop), case .wait(let future) = sink.take(piece, on: loop) else {
            Issue.record("takes more than two batches")
            gate.signal()
            gate.signal()
            return
        }
        gate.signal()
        try await future.get()
        gate.signal()
        #expect(await finish(sink) == nil)
        #expect(part.persisted.count == 200)
    }

    @Test func writesWhatCameWhileTheDiskWasBehindAlsoWhenNothingMoreComes() async throws {
        let gate = DispatchSemaphore(value: 0)
        let (milestones, milestone) = AsyncStream.makeStream(of: Void.self)
        let part = PartFile(MemoryFile { gate.wait() }, persisted: .zero) { milestone.yield() }
        let sink = SegmentSink(part, at: 0, limit: nil, expecting: [], batchSize: 100)
        for _ in 0..<2 { _ = sink.take(ByteBuffer(repeating: 7, count: 100), on: loop) }
        // Less than a batch, while two batches are being written.
        _ = sink.take(ByteBuffer(repeating: 7, count: 50), on: loop)
        for _ in 0..<3 { gate.signal() }
        for await _ in milestones { break }
        while part.persisted.count < 250 { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test(arguments: 1...4) func tellsWhenAllThatCameIsWritten(_ batches: Int) async throws {
        let gate = DispatchSemaphore(value: 0)
        let file = MemoryFile { gate.wait() }
        let sink = SegmentSink(part(file), at: 0, limit: nil, expecting: [], batchSize: 100)
        for _ in 0..<batches { _ = sink.take(ByteBuffer(repeating: 7, count: 100), on: loop) }
        // Less than a batch, which a timer would write later.
        _ = sink.take(ByteBuffer(repeating: 7, count: 50), on: loop)
        let length = batches * 100 + 50
        let written = sink.written(on: loop).map { file.bytes.count }
        for _ in 0...batches { gate.signal() }
        #expect(try await written.get() == length)
        #expect(try await sink.written(on: loop).map { file.writes.count }.get() == file.writes.count)
        #expect(await finish(sink) == nil)
    }

    @Test(arguments: [false, true]) func waitsForNoByteThatIsNeverWritten(_ isFull: Bool) async throws {
        let gate = DispatchSemaphore(value: 0)
        let file = MemoryFile(failingAfter: isFull ? 1 : nil) { gate.wait() }
        let sink = SegmentSink(part(file), at: 0, limit: nil, expecting: [], batchSize: 100)
        for _ in 0..<3 { _ = sink.take(ByteBuffer(repeating: 7, count: 100), on: loop) }
        let written = sink.written(on: loop)
        if !isFull { sink.shut() }
        for _ in 0..<4 { gate.signal() }
        try await written.get()
        try await sink.written(on: loop).get()
        _ = await finish(sink)
    }

    @Test func writesAllThatCameWhenItIsShutWhileTheDiskIsBehind() async throws {
        let gate = DispatchSemaphore(value: 0)
        let file = MemoryFile { gate.wait() }
        let part = part(file)
        let sink = SegmentSink(part, at: 0, limit: nil, expecting: [], batchSize: 100)
        for _ in 0..<2 { _ = sink.take(ByteBuffer(repeating: 7, count: 100), on: loop) }
        _ = sink.take(ByteBuffer(repeating: 7, count: 50), on: loop)
        sink.shut()
        if case .failed = sink.take(ByteBuffer(bytes: [1]), on: loop) {} else { Issue.record("takes more") }
        for _ in 0..<3 { gate.signal() }
        #expect(await finish(sink) == nil)
        #expect(part.persisted.count == 250 && file.bytes.count == 250)
    }

    @Test func keepsTheOrderOfWhatIsHeldAndWhatIsEnough() async throws {
        let (file, body) = (MemoryFile(), someBytes(60_000, seed: 8))
        let clock = HandClock(step: .milliseconds(15))
        let limit = RateLimiter(10_000) { clock.read() }
        let sink = SegmentSink(part(file), at: 0, limit: 50_000, expecting: [], batchSize: 1 << 20, speedLimit: limit)
        // The bytes arrived before the sink existed. They are passed on at once, without a wait in between.
        for start in stride(from: 0, to: 60_000, by: 20_000) {
            _ = sink.take(ByteBuffer(bytes: body[start..<start + 20_000]), on: loop)
        }
        #expect(await finish(sink) == nil && file.bytes == Array(body.prefix(50_000)))
    }

    @Test func reportsTheDisksFailureAndTakesNothingMore() async throws {
        let file = MemoryFile(failingAfter: 2)
        let part = part(file)
        let sink = SegmentSink(part, at: 0, limit: nil, expecting: [], batchSize: 10)
        for _ in 0..<20 { _ = try await take(someBytes(10, seed: 4), sink) }
        let failure = await finish(sink)
        #expect(failure?.kind == .full)
        #expect(part.persisted.count == 20 && file.bytes.count == 20)
        guard case .failed = sink.take(ByteBuffer(bytes: [1]), on: loop) else {
            Issue.record("goes on")
            return
        }
    }
}
