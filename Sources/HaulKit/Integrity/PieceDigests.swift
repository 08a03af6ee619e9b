internal import Crypto
internal import NIOCore
internal import Synchronization

/// Hashes the pieces of a file while their bytes are written. A piece whose bytes arrived in order need not be read
/// back.
final class PieceDigests: Sendable {
    let hashes: PieceHashes
    let total: Int64
    private struct Open {
        var hasher: DigestHasher
        var position: Int64
    }
    /// Hashers of the pieces that have been written from their first byte on without a gap.
    private let open = Mutex<[Int: Open]>([:])

    init(_ hashes: PieceHashes, total: Int64) {
        self.hashes = hashes
        self.total = total
    }

    func startOver() { open.withLock { $0 = [:] } }

    /// Hashes bytes that were just written.
    func update(_ buffers: [ByteBuffer], at offset: Int64) {
        open.withLock { open in
            var position = offset
            for buffer in buffers {
                buffer.withUnsafeReadableBytes { bytes in
                    var rest = bytes[...]
                    while !rest.isEmpty {
                        let index = Int(position / hashes.pieceLength)
                        let end = min(Int64(index + 1) * hashes.pieceLength, total)
                        let part = rest.prefix(Int(max(0, min(end - position, Int64(rest.count)))))
                        guard !part.isEmpty else { return }
                        take(UnsafeRawBufferPointer(rebasing: part), index, position, &open)
                        position += Int64(part.count)
                        rest = rest.dropFirst(part.count)
                    }
                }
            }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ index: Int, _ position: Int64, _ open: inout [Int: Open]) {
        if position == Int64(index) * hashes.pieceLength {
            open[index] = Open(hasher: hasher(of: index), position: position)
        }
        // Bytes out of order drop the piece's hasher. `isRight(_:in:)` then reads the piece back.
        guard var state = open.removeValue(forKey: index), state.position == position else { return }
        state.hasher.update(bytes)
        state.position += Int64(bytes.count)
        open[index] = state
    }

    private func hasher(of index: Int) -> DigestHasher {
        let range = hashes.range(of: index, total: total)
        return DigestHasher(hashes.algorithm, size: range.upperBound - range.lowerBound)
    }

    /// Compares all pieces with their digests and returns the bytes of the matching pieces. May block for long.
    ///
    /// - Returns: `nil` if `flag` was set before the last piece.
    func right(in file: any DiskFile, until flag: CancelFlag, progress: (Int64, Int64) -> Void) throws(DiskError)
        -> ByteSet?
    {
        var right = ByteSet()
        for index in hashes.digests.indices {
            if flag.isSet { return nil }
            let range = hashes.range(of: index, total: total)
            if try isRight(index, in: file) { right.insert(contentsOf: range) }
            progress(range.upperBound, total)
        }
        return right
    }

    /// Returns whether a complete piece has its digest. May block. Uses up the hasher of the piece, so that a second
    /// call reads the piece back.
    func isRight(_ index: Int, in file: any DiskFile) throws(DiskError) -> Bool {
        guard hashes.digests.indices.contains(index) else { return false }
        let range = hashes.range(of: index, total: total)
        let kept = open.withLock { $0.removeValue(forKey: index) }
        if let kept, kept.position == range.upperBound { return kept.hasher.finish() == hashes.digests[index] }
        var hasher = hasher(of: index)
        var position = range.lowerBound
        while position < range.upperBound {
            let block = try file.read(at: position, count: Int(min(range.upperBound - position, 1 << 20)))
            // Another process has truncated the file, so the piece is wrong.
            guard !block.isEmpty else { return false }
            block.withUnsafeBytes { hasher.update($0) }
            position += Int64(block.count)
        }
        return hasher.finish() == hashes.digests[index]
    }
}
