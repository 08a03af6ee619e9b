/// Chooses the blocks on disk that are compared with the server's bytes before a download without a strong validator is
/// resumed. The blocks come from all over the file. Blocks that do not consist of one repeated byte are preferred.
package struct ComparisonPlan: Sendable, Equatable {
    /// Length of a block in bytes. That is about as much as a server sends on a new connection before the first
    /// acknowledgement (RFC 6928).
    package static let blockLength: Int64 = 16 * 1024
    /// Number of blocks in the first comparison of a run, and the maximum in a later one. If the data is not longer
    /// than the blocks of a comparison, all of it is compared.
    static let mostBlocks = 15
    static let fewestBlocks = 3
    /// Number of downloaded bytes for each block of a later comparison in the same run, so that the compared bytes stay
    /// few beside the downloaded ones, however often the connection breaks.
    static let bytesForABlock: Int64 = 128 * 1024
    /// Maximum number of positions at which blocks that do not consist of one repeated byte are searched for.
    static let mostProbes = 1024

    /// The bytes that blocks are taken from.
    package let bytes: ByteSet
    /// The bytes right before the first missing one, which the request that resumes compares anyway.
    package let tail: Range<Int64>
    package let count: Int
    package let seed: UInt64

    /// - Parameters:
    ///   - written: all bytes that are on disk.
    ///   - tail: bytes that are compared by the request that resumes.
    ///   - fresh: bytes downloaded since the last comparison of this run; `nil` if there was none.
    package init(of written: ByteSet, besides tail: Range<Int64>, since fresh: Int64?, seed: UInt64) {
        bytes = written.subtracting(ByteSet(tail))
        self.tail = tail
        self.seed = seed
        let most = fresh.map { Int(min($0 / Self.bytesForABlock, Int64(Self.mostBlocks))) } ?? Self.mostBlocks
        count = max(Self.fewestBlocks, most)
    }

    /// Chooses the blocks, in the order of their positions.
    ///
    /// At first, takes one block from each of ``count`` parts of ``bytes``. Blocks of zeros are alike in unrelated
    /// files, so varied blocks replace them. A part without varied blocks keeps its block.
    ///
    /// - Parameter isVaried: returns whether a block on disk has at least two different bytes.
    package func blocks<Failure: Error>(
        isVaried: (Range<Int64>) throws(Failure) -> Bool
    ) throws(Failure) -> [Range<Int64>] {
        let size = bytes.count
        guard size > Int64(count) * Self.blockLength else { return tiles }
        var random = SplitMix64(seed: seed)
        var chosen = [block(at: 0)]
        for index in 1..<count {
            let lower = part(index, of: count, size)
            let last = max(lower, part(index + 1, of: count, size) - Self.blockLength)
            chosen.append(block(at: Int64.random(in: lower...last, using: &random)))
        }
        let isTailVaried = try isVaried(tail)
        var uniform: [Int] = []
        for (index, block) in chosen.enumerated() where try !isVaried(block) { uniform.append(index) }
        if isTailVaried, uniform.isEmpty { return chosen }
        var varied: [Probe] = []
        for probe in probes(size) where try isVaried(probe.block) { varied.append(probe) }
        if varied.isEmpty { return chosen }
        let alone = uniform.filter { index in
            let part = part(index, of: count, size)..<part(index + 1, of: count, size)
            return !varied.contains { part.contains($0.position) }
        }
        let picked = pick(varied.map(\.block), &random)
        return (picked + alone.map { chosen[$0] }).sorted { $0.lowerBound < $1.lowerBound }
    }

    /// A position at which a varied block is searched for.
    private struct Probe {
        /// Offset within ``bytes``, counted without the gaps.
        let position: Int64
        let block: Range<Int64>
    }

    /// Returns the first block, the last block, and some between them. If there are at most `count`, returns all.
    private func pick(_ blocks: [Range<Int64>], _ random: inout SplitMix64) -> [Range<Int64>] {
        guard blocks.count > count, let first = blocks.first, let last = blocks.last else { return blocks }
        let between = (1..<count - 1).map { index in
            let lower = max(1, Int(part(index, of: count, Int64(blocks.count))))
            let upper = max(lower + 1, Int(part(index + 1, of: count, Int64(blocks.count))))
            return blocks[Int.random(in: lower..<min(upper, blocks.count - 1), using: &random)]
        }
        return [first] + between + [last]
    }

    private func part(_ index: Int, of count: Int, _ size: Int64) -> Int64 {
        let (quotient, rest) = size.quotientAndRemainder(dividingBy: Int64(count))
        return quotient * Int64(index) + rest * Int64(index) / Int64(count)
    }

    /// All bytes, cut into blocks.
    private var tiles: [Range<Int64>] {
        bytes.ranges.flatMap { stretch in
            stride(from: stretch.lowerBound, to: stretch.upperBound, by: Int(Self.blockLength)).map {
                $0..<min($0 + Self.blockLength, stretch.upperBound)
            }
        }
    }

    private func probes(_ size: Int64) -> [Probe] {
        guard size > Int64(Self.mostProbes) * Self.blockLength else {
            var position: Int64 = 0
            return tiles.map { tile in
                defer { position += tile.upperBound - tile.lowerBound }
                return Probe(position: position, block: tile)
            }
        }
        return (0..<Self.mostProbes).map { index in
            let position = part(index, of: Self.mostProbes, size)
            return Probe(position: position, block: block(at: position))
        }
    }

    /// Returns the block that begins at an offset within ``bytes``, counted without the gaps between their ranges.
    private func block(at position: Int64) -> Range<Int64> {
        var left = position
        for stretch in bytes.ranges {
            let length = stretch.upperBound - stretch.lowerBound
            if left < length {
                let start = stretch.lowerBound + left
                return start..<min(start + Self.blockLength, stretch.upperBound)
            }
            left -= length
        }
        return tail
    }
}

extension [UInt8] {
    /// Whether the bytes are not all equal.
    package var isVaried: Bool {
        guard let first else { return false }
        return !allSatisfy { $0 == first }
    }
}
