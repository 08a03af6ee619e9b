internal import Foundation
internal import NIOCore

/// The memory of several buffers, one after another, as `writev` takes it; what is written is taken off the front.
struct IOVectors {
    private var vectors: [iovec] = []
    private var next = 0
    /// Bytes that are left.
    private(set) var count = 0

    /// Holds every buffer's memory still while `body` runs, without copying any of it.
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
            // writev only reads, but its struct has no const.
            let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            vectors.vectors.append(iovec(iov_base: base, iov_len: bytes.count))
            vectors.count += bytes.count
            return gather(buffers.dropFirst(), into: &vectors, body)
        }
    }

    /// The first `most` bytes that are left, as far as one call takes them: at least one byte where `most` is positive and
    /// there is one.
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
        // The last of them may have more than is wanted.
        let surplus = max(0, bytes - most)
        if surplus > 0 { vectors[end - 1].iov_len -= surplus }
        defer { if surplus > 0 { vectors[end - 1].iov_len += surplus } }
        let result = vectors.withUnsafeBufferPointer { all in
            Result { () throws(SystemCalls.Errno) in try body(UnsafeBufferPointer(rebasing: all[next..<end])) }
        }
        return try result.get()
    }

    /// POSIX allows 16; Linux and Darwin take 1024.
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

    /// Copies the front of what is left, and leaves it where it is.
    ///
    /// - Returns: how many bytes there were, at most as many as `memory` holds.
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
