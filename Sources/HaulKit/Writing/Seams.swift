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
        kept.allSatisfy { batch.agree(at: offset, with: $0.bytes, at: $0.range.lowerBound) }
    }

    /// Forgets the bytes that all have been compared, because the file has them.
    mutating func forget(_ written: ByteSet) {
        kept.removeAll { written.containsAll(of: $0.range) }
    }
}

extension [ByteBuffer] {
    /// Returns whether these bytes, whose first belongs at `offset`, are the same as `bytes`, whose first belongs at
    /// `place`, wherever both have one.
    func agree(at offset: Int64, with bytes: [UInt8], at place: Int64) -> Bool {
        let range = place..<place + Int64(bytes.count)
        var position = offset
        for buffer in self {
            let brought = position..<position + Int64(buffer.readableBytes)
            position = brought.upperBound
            let shared = range.clamped(to: brought)
            guard !shared.isEmpty else { continue }
            let theirs = bytes[Int(shared.lowerBound - place)..<Int(shared.upperBound - place)]
            let start = Int(shared.lowerBound - brought.lowerBound)
            let isSame = buffer.withUnsafeReadableBytes { $0[start..<start + shared.count].elementsEqual(theirs) }
            guard isSame else { return false }
        }
        return true
    }
}
