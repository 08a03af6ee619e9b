internal import NIOCore

/// Bytes that connections under a weak validator repeat, from before the ranges that they fetch. They are kept until the
/// connections that fetch them bring them, and are compared then.
struct Seams {
    private var kept: [(range: Range<Int64>, bytes: [UInt8])] = []

    /// Keeps `bytes`, which belong at `offset`.
    ///
    /// - Returns: whether they are the same as the bytes that other connections repeated.
    mutating func keep(_ bytes: [UInt8], at offset: Int64) -> Bool {
        guard agree(with: [ByteBuffer(bytes: bytes)], at: offset) else { return false }
        let range = offset..<offset + Int64(bytes.count)
        let isKept = kept.contains {
            $0.range.lowerBound <= range.lowerBound && range.upperBound <= $0.range.upperBound
        }
        if !isKept { kept.append((range, bytes)) }
        return true
    }

    /// Returns whether `batch`, whose first byte belongs at `offset`, has the same bytes.
    func agree(with batch: [ByteBuffer], at offset: Int64) -> Bool {
        guard !kept.isEmpty else { return true }
        var position = offset
        for buffer in batch {
            let brought = position..<position + Int64(buffer.readableBytes)
            for (range, bytes) in kept where range.overlaps(brought) {
                let shared = range.clamped(to: brought)
                let mine = bytes[Int(shared.lowerBound - range.lowerBound)..<Int(shared.upperBound - range.lowerBound)]
                let start = Int(shared.lowerBound - brought.lowerBound)
                let isSame = buffer.withUnsafeReadableBytes { $0[start..<start + shared.count].elementsEqual(mine) }
                guard isSame else { return false }
            }
            position = brought.upperBound
        }
        return true
    }

    /// Forgets the bytes that all have been compared, because the file has them.
    mutating func forget(_ written: ByteSet) {
        kept.removeAll { written.containsAll(of: $0.range) }
    }
}
