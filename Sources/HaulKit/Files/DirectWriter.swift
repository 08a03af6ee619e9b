internal import CHaulSystem
internal import Synchronization

/// Writes whole blocks of a file from memory to the disk (`O_DIRECT`), through a second descriptor and from a buffer that lies
/// as the disk needs it.
///
/// A write through the page cache allocates pages, copies the bytes into them, and has the kernel empty them again. A copy into
/// this buffer, which stays in the processor's cache, costs less.
final class DirectWriter: Sendable {
    /// Offsets and lengths are multiples of it; no disk asks for more.
    static let blockSize: Int64 = 4096

    private let descriptor: Int32
    private let isRefused = Mutex(false)

    /// - Returns: nil where the file system cannot, or does not say what it needs.
    init?(beside descriptor: Int32) {
        do throws(SystemCalls.Errno) {
            self.descriptor = try SystemCalls.openDirect(descriptor, blockSize: UInt32(Self.blockSize))
        } catch { return nil }
    }

    deinit { SystemCalls.close(descriptor) }

    /// Writes the front of `vectors` at `offset`, which must be a multiple of the block size, and takes it off them.
    ///
    /// - Returns: how much that was: all whole blocks, or less where the file system refuses or is full.
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
                    // Some of it may fit still, which the page cache knows.
                    if !isRefused, !SystemCalls.isOfSpace(error) { failure = error }
                    return
                }
            }
        }
        if let failure { throw failure }
        return written
    }
}

/// The buffers that direct writes copy from: as many as there are writes at once, however many files are open.
private final class BlockBuffers: Sendable {
    /// Unchecked since the compiler does not see ownership: the caller of `take()` alone uses the buffer until `giveBack(_:)`.
    private struct Free: @unchecked Sendable {
        var buffers: [UnsafeMutableRawBufferPointer] = []
    }
    static let shared = BlockBuffers()
    private static let size = 512 << 10
    /// More are given back to the system.
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
