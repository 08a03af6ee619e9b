internal import CHaulSystem
internal import Synchronization

/// Writes whole blocks of a file with `O_DIRECT`, through a second descriptor and from an aligned buffer.
///
/// A write through the page cache allocates pages, copies the bytes into them, and makes the kernel reclaim them later.
/// A copy into this buffer costs less, because the buffer stays in the processor's cache.
final class DirectWriter: Sendable {
    /// Size of a block in bytes. Each offset and each length is a multiple of it. A file that requires larger blocks
    /// gets no direct writer.
    static let blockSize: Int64 = 4096

    private let descriptor: Int32
    private let isRefused = Mutex(false)

    /// - Returns: `nil` if the file system does not support `O_DIRECT`, does not report its alignment, or requires
    ///   larger blocks.
    init?(beside descriptor: Int32) {
        do throws(SystemCalls.Errno) {
            self.descriptor = try SystemCalls.openDirect(descriptor, blockSize: UInt32(Self.blockSize))
        } catch { return nil }
    }

    deinit { SystemCalls.close(descriptor) }

    /// Writes whole blocks from the front of `vectors` at `offset`, a multiple of the block size. Removes the written
    /// bytes from `vectors`.
    ///
    /// - Returns: the number of written bytes: all whole blocks, or fewer if the file system refuses or is full.
    func write(_ vectors: inout IOVectors, at offset: Int64) throws(SystemCalls.Errno) -> Int {
        var written = 0
        var failure: SystemCalls.Errno?
        isRefused.withLock { isRefused in
            guard !isRefused else { return }
            let buffer = BlockBuffers.shared.take()
            defer { BlockBuffers.shared.giveBack(buffer) }
            while !isRefused, vectors.count >= Self.blockSize {
                let count = vectors.copyFirst(into: buffer) & ~Int(Self.blockSize - 1)
                do throws(SystemCalls.Errno) {
                    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                    let taken = try SystemCalls.write(descriptor, bytes, at: offset + Int64(written))
                    vectors.removeFirst(taken)
                    written += taken
                    guard taken == count else { return }
                } catch {
                    isRefused = SystemCalls.isUnsupported(error)
                    // Throws no error for a full disk: the caller writes the rest through the page cache, and some of
                    // the rest may still fit.
                    if !isRefused, !SystemCalls.isOfSpace(error) { failure = error }
                    return
                }
            }
        }
        if let failure { throw failure }
        return written
    }
}

/// Aligned buffers, into which direct writes copy the bytes. A write keeps a buffer only until it ends, so the number
/// of buffers depends on simultaneous writes, not on open files.
private final class BlockBuffers: Sendable {
    /// Unchecked, because the compiler does not see ownership. The lock of `free` protects the list; only the caller of
    /// `take()` uses the bytes of a buffer until `giveBack(_:)`.
    private struct Free: @unchecked Sendable {
        var buffers: [UnsafeMutableRawBufferPointer] = []
    }
    static let shared = BlockBuffers()
    private static let size = 512 << 10
    /// Limit of free buffers. Further ones are deallocated.
    private static let mostKept = 4
    private let free = Mutex(Free())

    func take() -> UnsafeMutableRawBufferPointer {
        let known = free.withLock { Free(buffers: $0.buffers.popLast().map { [$0] } ?? []) }.buffers.first
        return known ?? .allocate(byteCount: Self.size, alignment: Int(DirectWriter.blockSize))
    }

    func giveBack(_ buffer: UnsafeMutableRawBufferPointer) {
        let given = Free(buffers: [buffer])
        let isKept = free.withLock { free in
            guard free.buffers.count < Self.mostKept else { return false }
            free.buffers += given.buffers
            return true
        }
        if !isKept { buffer.deallocate() }
    }
}
