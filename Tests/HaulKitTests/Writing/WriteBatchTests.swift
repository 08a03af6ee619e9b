import NIOCore
import Testing

@testable import HaulKit

struct WriteBatchTests {
    private func buffer(_ count: Int, _ byte: UInt8 = 1) -> ByteBuffer { ByteBuffer(repeating: byte, count: count) }

    private func address(_ buffer: ByteBuffer) -> UnsafeRawPointer? {
        buffer.withUnsafeReadableBytes(\.baseAddress)
    }

    @Test func smallReadsShareABuffer() {
        var batch = WriteBatch(offset: 0)
        for byte in 0..<100 { batch.append(buffer(10, UInt8(byte))) }
        #expect(batch.buffers.count == 1)
        #expect(batch.buffers[0].readableBytesView.elementsEqual((0..<1000).map { UInt8($0 / 10) }))
    }

    @Test func aLargeReadIsNotCopiedForASmallOne() {
        var batch = WriteBatch(offset: 0)
        let (first, head, second) = (buffer(60_000), buffer(24, 2), buffer(50_000, 3))
        for each in [first, head, second, head, head] { batch.append(each) }
        #expect(batch.buffers.map(\.readableBytes) == [60_000, 24, 50_000, 48])
        #expect(address(batch.buffers[0]) == address(first))
        #expect(address(batch.buffers[2]) == address(second))
        #expect(batch.bytes == 110_072)
    }
}
