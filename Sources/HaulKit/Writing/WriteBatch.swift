internal import NIOCore

/// Bytes that are written, or passed on, together.
struct WriteBatch {
    /// Offset of the first byte in the file or the segment.
    var offset: Int64
    var buffers: [ByteBuffer] = []
    var bytes = 0
    /// Whether the last buffer holds a small read, or one whose buffer is much larger than its bytes. `append` copies
    /// the next such read into it.
    private var isLastJoined = false

    init(offset: Int64) { self.offset = offset }

    /// Approximate size of the buffers that small reads are copied into.
    private static let joinedSize = 65536
    /// Size of a block in bytes. While bytes arrive fast, batches end at a block boundary of the file, because
    /// `DirectWriter` writes only whole blocks.
    private static let blockSize: Int64 = 4096

    /// Appends bytes. Copies small reads together, so that a server that sends ten bytes at a time does not cause one
    /// I/O vector for each read.
    ///
    /// Also copies buffers that keep much more memory than they need. The TLS library returns every read in a
    /// buffer of the largest size that it ever needed.
    mutating func append(_ more: ByteBuffer) {
        guard more.readableBytes > 0 else { return }
        bytes += more.readableBytes
        let isSparse = more.storageCapacity > 2 * more.readableBytes
        guard isSparse || more.readableBytes < 4096 else {
            buffers.append(more)
            isLastJoined = false
            return
        }
        defer { isLastJoined = true }
        if isLastJoined, let last = buffers.last, last.readableBytes < Self.joinedSize {
            buffers.removeLast()
            var joined = last
            joined.writeImmutableBuffer(more)
            buffers.append(joined)
        } else if isSparse, more.storageCapacity > Self.joinedSize {
            var dense = ByteBufferAllocator().buffer(capacity: Self.joinedSize)
            dense.writeImmutableBuffer(more)
            buffers.append(dense)
        } else {
            buffers.append(more)
        }
    }

    /// Removes the bytes behind the last whole block and returns a copy. A slice would keep the whole buffer in memory.
    /// Returns `nil` and removes nothing if there are no such bytes, or if the last buffer has no other bytes.
    mutating func takePartOfBlock() -> ByteBuffer? {
        let count = Int((offset + Int64(bytes)) % Self.blockSize)
        guard count > 0, var last = buffers.popLast() else { return nil }
        guard last.readableBytes > count, let whole = last.readSlice(length: last.readableBytes - count) else {
            buffers.append(last)
            return nil
        }
        buffers.append(whole)
        bytes -= count
        return ByteBuffer(bytes: last.readableBytesView)
    }
}
