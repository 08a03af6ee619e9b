internal import Foundation
internal import NIOCore

/// Memory of several buffers in the form that `writev` takes. Callers remove written bytes from the front.
struct IOVectors {
    private var vectors: [iovec] = []
    private var next = 0
    /// Bytes that are left.
    private(set) var count = 0

    /// Calls `body` with the memory of all buffers, without a copy. The memory stays valid while `body` runs.
    static func withMemory<Answer>(of buffers: [ByteBuffer], _ body: (inout Self) -> Answer) -> Answer {
        var vectors = Self()
        vectors.vectors.reserveCapacity(buffers.count)
        return gather(buffers[...], into: &vectors, body)
    }

    private static func gather<Answer>(
        _ buffers: ArraySlice<ByteBuffer>,
        into vectors: inout Self,
        _ body: (inout Self) -> Answer
    ) -> Answer {
        guard let first = buffers.first else { return body(&vectors) }
        return first.withUnsafeReadableBytes { bytes in
            // `writev` only reads, but `iovec` has no `const`.
            let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            vectors.vectors.append(iovec(iov_base: base, iov_len: bytes.count))
            vectors.count += bytes.count
            return gather(buffers.dropFirst(), into: &vectors, body)
        }
    }

    /// Calls `body` with the first remaining bytes: at most `most`, and no more vectors than one system call takes.
    /// There is at least one byte if `most` is positive and a byte remains.
    mutating func withFirst<Answer>(
        _ most: Int,
        _ body: (UnsafeBufferPointer<iovec>) throws(SystemCalls.Errno) -> Answer
    ) throws(SystemCalls.Errno) -> Answer {
        var end = next
        var bytes = 0
        while end < vectors.count, end < next + Self.mostOfACall, bytes < most {
            bytes += vectors[end].iov_len
            end += 1
        }
        // The last vector may have more bytes than are wanted.
        let surplus = max(0, bytes - most)
        if surplus > 0 { vectors[end - 1].iov_len -= surplus }
        defer { if surplus > 0 { vectors[end - 1].iov_len += surplus } }
        let result = vectors.withUnsafeBufferPointer { all in
            Result { () throws(SystemCalls.Errno) in try body(UnsafeBufferPointer(rebasing: all[next..<end])) }
        }
        return try result.get()
    }

    /// Limit of vectors in one call. POSIX guarantees only 16; Linux and Darwin take 1024.
    private static let mostOfACall = 512

    mutating func removeFirst(_ bytes: Int) {
        var rest = bytes
        count -= bytes
        while next < vectors.count, rest >= vectors[next].iov_len {
            rest -= vectors[next].iov_len
            next += 1
        }
        guard rest > 0 else { return }
        vectors[next].iov_base = vectors[next].iov_base?.advanced(by: rest)
        vectors[next].iov_len -= rest
    }

    /// Copies the first remaining bytes without removing them.
    ///
    /// - Returns: the number of copied bytes, at most the size of `memory`.
    func copyFirst(into memory: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        for vector in vectors[next...] where filled < memory.count {
            let count = min(vector.iov_len, memory.count - filled)
            let bytes = UnsafeRawBufferPointer(start: vector.iov_base, count: count)
            UnsafeMutableRawBufferPointer(rebasing: memory[filled...]).copyMemory(from: bytes)
            filled += bytes.count
        }
        return filled
    }
}
