import NIOCore
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

struct ReadSizesTests {
    /// Reads `bytes` bytes at `bytesPerSecond`.
    ///
    /// - Parameter backlog: number of bytes available at each read; `nil` for more than any buffer holds.
    /// - Returns: the size of the next read.
    private func size(after bytes: Int, bytesPerSecond: Int, backlog: Int? = nil) -> Int? {
        let now = Mutex(NIODeadline.uptimeNanoseconds(1))
        var sizes = ReadSizes { now.withLock { $0 } }
        var read = 0
        while read < bytes {
            let count = min(backlog ?? .max, sizes.nextBufferSize() ?? 1)
            now.withLock { $0 = $0 + .nanoseconds(Int64(count) * 1_000_000_000 / Int64(bytesPerSecond)) }
            _ = sizes.record(actualReadBytes: count)
            read += count
        }
        #expect(sizes.buffer(allocator: ByteBufferAllocator()).capacity == sizes.nextBufferSize())
        return sizes.nextBufferSize()
    }

    @Test func aFastConnectionIsReadInLargePieces() {
        #expect(size(after: 20_000_000, bytesPerSecond: 500_000_000) == 512 << 10)
        #expect(size(after: 20_000_000, bytesPerSecond: 100_000_000) == 512 << 10)
    }

    @Test(arguments: [10_000, 1_000_000, 50_000_000])
    func oneThatIsHeldBackIsNotThoughItsReadsAreFull(bytesPerSecond: Int) {
        #expect(size(after: 20_000_000, bytesPerSecond: bytesPerSecond) == 64 << 10)
    }

    @Test func aSlowOneNeedsLittleMemory() {
        #expect(size(after: 1_000_000, bytesPerSecond: 1_000_000, backlog: 1448) ?? .max <= 4096)
    }

    @Test func oneThatHasBecomeSlowGivesItsMemoryBack() {
        let now = Mutex(NIODeadline.uptimeNanoseconds(1))
        var sizes = ReadSizes { now.withLock { $0 } }
        for _ in 0..<1000 { _ = sizes.record(actualReadBytes: sizes.nextBufferSize() ?? 1) }
        #expect(sizes.nextBufferSize() == 512 << 10)
        for _ in 0..<1000 {
            now.withLock { $0 = $0 + .milliseconds(20) }
            _ = sizes.record(actualReadBytes: sizes.nextBufferSize() ?? 1)
        }
        #expect(sizes.nextBufferSize() == 64 << 10)
    }
}
