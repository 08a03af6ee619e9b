import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// The sink under a speed limit with a manual clock. The sink asks every 20 ms, and the clock decides what it may take.
struct SegmentSinkSpeedTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.any()
    private let clock = HandClock()
    private let limit: RateLimiter

    init() {
        limit = RateLimiter(1_000_000) { [clock] in clock.read() }
    }

    private func at(_ seconds: Double) -> Instant { .start + .seconds(seconds) }

    private func sink(_ part: PartFile, wanted: Int64? = nil, batchSize: Int = 1 << 20) -> SegmentSink {
        SegmentSink(part, at: 0, limit: wanted, expecting: [], batchSize: batchSize, speedLimit: limit)
    }

    private func part(_ file: MemoryFile, onMilestone: @escaping @Sendable () -> Void = {}) -> PartFile {
        PartFile(file, persisted: .zero, onMilestone: onMilestone)
    }

    private func finish(_ sink: SegmentSink) async -> WriteFailure? {
        await withCheckedContinuation { continuation in sink.finish { continuation.resume(returning: $0) } }
    }

    /// Returns the future that holds the bytes back; records an issue and returns `nil` if there is none.
    private func hold(_ bytes: [UInt8], _ sink: SegmentSink) -> EventLoopFuture<Void>? {
        if case .wait(let future) = sink.take(ByteBuffer(bytes: bytes), on: loop) { return future }
        Issue.record("does not hold back")
        return nil
    }

    @Test func holdsBackUntilTheBytesArePaidFor() async throws {
        let (file, body) = (MemoryFile(), someBytes(100_000, seed: 1))
        let sink = sink(part(file))
        let isFree = Atomic(false)
        let future = hold(body, sink)
        future?.whenComplete { _ in isFree.store(true, ordering: .sequentiallyConsistent) }
        // Each query pays for one turn.
        for step in 1..<5 {
            clock.set(at(Double(step) * 0.02))
            let before = clock.readings
            while clock.readings < before + 2 { try await Task.sleep(for: .milliseconds(1)) }
            let hasGoneOn = isFree.load(ordering: .sequentiallyConsistent)
            #expect(!hasGoneOn)
        }
        clock.set(at(1))
        try await future?.get()
        #expect(await finish(sink) == nil && file.bytes == body)
    }

    @Test func writesWhatIsPaidForWhileTheRestWaits() async throws {
        let (file, body) = (MemoryFile(), someBytes(20_000, seed: 2))
        let (milestones, milestone) = AsyncStream.makeStream(of: Void.self)
        let part = part(file) { milestone.yield() }
        let sink = sink(part)
        let future = hold(body, sink)
        clock.set(at(0.008))
        for await _ in milestones { break }
        #expect(part.persisted.count == 8000)
        clock.set(at(0.02))
        try await future?.get()
        #expect(await finish(sink) == nil && file.bytes == body)
    }

    @Test func letsTheConnectionGoAndWritesWhatItHoldsWhenShut() async throws {
        let (file, body) = (MemoryFile(), someBytes(100_000, seed: 3))
        let sink = sink(part(file))
        let future = hold(body, sink)
        sink.shut()
        try await future?.get()
        guard case .failed = sink.take(ByteBuffer(bytes: body), on: loop) else {
            Issue.record("goes on")
            return
        }
        #expect(await finish(sink) == nil && file.bytes == body)
    }

    @Test func letsTheConnectionGoAndWritesWhatItHoldsWhenFinished() async throws {
        let (file, body) = (MemoryFile(), someBytes(100_000, seed: 4))
        let sink = sink(part(file))
        let future = hold(body, sink)
        #expect(await finish(sink) == nil && file.bytes == body)
        try await future?.get()
        sink.shut()
    }

    @Test func letsTheConnectionGoWhenTheDiskFails() async throws {
        let sink = sink(part(MemoryFile(failingAfter: 0)))
        let future = hold(someBytes(100_000, seed: 5), sink)
        clock.set(at(0.01))
        try await future?.get()
        guard case .failed = sink.take(ByteBuffer(bytes: [1]), on: loop) else {
            Issue.record("goes on")
            return
        }
        #expect(await finish(sink)?.kind == .full)
    }

    @Test func doesNotHoldBackWhatIsEnoughButCountsIt() async throws {
        let file = MemoryFile()
        let sink = sink(part(file), wanted: 50_000)
        let body = someBytes(60_000, seed: 6)
        guard case .enough = sink.take(ByteBuffer(bytes: body), on: loop) else {
            Issue.record("takes too much")
            return
        }
        #expect(await finish(sink) == nil && file.bytes == Array(body.prefix(50_000)))
        var turn: RateLimiter.Turn?
        clock.set(at(0.05))
        #expect(limit.admit(6000, &turn) == .init(bytes: 0, wait: .milliseconds(6)))
    }

    @Test func countsWhatItHoldsWhenItIsNarrowed() async throws {
        let file = MemoryFile()
        let sink = sink(part(file))
        let body = someBytes(30_000, seed: 7)
        let future = hold(Array(body.prefix(20_000)), sink)
        sink.shorten(to: 25_000)
        clock.set(at(1))
        try await future?.get()
        guard case .enough = sink.take(ByteBuffer(bytes: body.dropFirst(20_000)), on: loop) else {
            Issue.record("takes too much")
            return
        }
        #expect(await finish(sink) == nil && file.bytes == Array(body.prefix(25_000)))
    }

    @Test func goesOnAtOnceWhenTheLimitIsLifted() async throws {
        let (file, body) = (MemoryFile(), someBytes(100_000, seed: 8))
        let sink = sink(part(file))
        let future = hold(body, sink)
        limit.bytesPerSecond = nil
        try await future?.get()
        guard case .goOn = sink.take(ByteBuffer(bytes: body), on: loop) else {
            Issue.record("holds back")
            return
        }
        #expect(await finish(sink) == nil && file.bytes == body + body)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func writesTheBodyWhateverItsPiecesAndTheDisksPace(_ seed: UInt64) async throws {
        let clock = HandClock(step: .milliseconds(15))
        let limit = RateLimiter(1_000_000) { clock.read() }
        let body = someBytes(300_000, seed: seed)
        var random = SplitMix64(seed: seed)
        let (overlap, offset) = (Int.random(in: 0...20_000, using: &random), 20_000)
        let file = MemoryFile(Array(body.prefix(offset)))
        let part = PartFile(file, persisted: .init(written: Int64(offset), synced: Int64(offset))) {}
        let sink = SegmentSink(
            part,
            at: Int64(offset),
            limit: Int64(body.count - offset),
            expecting: Array(body[(offset - overlap)..<offset]),
            batchSize: [1, 1000, 1 << 20].randomElement(using: &random) ?? 1,
            speedLimit: limit
        )
        var position = offset - overlap
        while position < body.count {
            let end = min(body.count, position + Int.random(in: 0...80_000, using: &random))
            if case .wait(let future) = sink.take(ByteBuffer(bytes: body[position..<end]), on: loop) {
                try await future.get()
            }
            position = end
        }
        #expect(await finish(sink) == nil)
        #expect(file.bytes == body && sink.hasComparedAll, "seed \(seed)")
    }
}
