/// Records which pieces of a file have the right digest, and which source sent which bytes.
package struct PieceVerifier: Sendable, Equatable {
    package let hashes: PieceHashes
    package let total: Int64
    package private(set) var right = IndexRanges()
    private var checking: Set<Int> = []
    /// Number of times that each piece had a wrong digest.
    private var wrong: [Int: Int] = [:]
    /// Bytes that each source sent in this run.
    private var brought: [Int: ByteSet] = [:]
    private var seen = ByteSet()

    /// Piece numbers as ranges.
    package typealias IndexRanges = RangeSet<Int>

    package init(_ hashes: PieceHashes, total: Int64) {
        self.hashes = hashes
        self.total = total
    }

    package var isDone: Bool { checking.isEmpty && right == IndexRanges(0..<hashes.digests.count) }
    var isChecking: Bool { !checking.isEmpty }

    /// Forgets running checks, because their results may be lost. Every piece that was not found right is checked
    /// again.
    package mutating func resume() {
        checking = []
        seen = ByteSet()
    }

    /// Forgets all bytes and results. Keeps the number of wrong digests of each piece, because this number limits how
    /// often the piece is fetched.
    package mutating func startOver() {
        resume()
        right = IndexRanges()
        brought = [:]
    }

    /// Records that `source` sent these bytes.
    package mutating func note(_ range: Range<Int64>, from source: Int) {
        guard !range.isEmpty else { return }
        brought[source, default: ByteSet()].insert(contentsOf: range)
    }

    /// Returns the pieces that have become complete since the last call. The caller has to check them.
    package mutating func complete(_ written: ByteSet) -> [Int] {
        let fresh = written.subtracting(seen)
        seen = written
        var found: [Int] = []
        for range in fresh.ranges {
            let first = Int(range.lowerBound / hashes.pieceLength)
            let last = min(Int((range.upperBound - 1) / hashes.pieceLength), hashes.digests.count - 1)
            guard first <= last else { continue }
            for index in first...last
            where !right.contains(index) && !checking.contains(index)
                && written.containsAll(of: hashes.range(of: index, total: total))
            {
                checking.insert(index)
                found.append(index)
            }
        }
        return found
    }

    package struct Decision: Sendable, Equatable {
        /// Bytes to fetch again.
        var forgotten: [Range<Int64>] = []
        /// The source that certainly sent wrong bytes; `nil` if it is unknown.
        var culprit: Int?
        /// The only source that sent bytes of a right piece in this run; `nil` if there were several or none, or if the
        /// piece is wrong.
        package var proven: Int?
        /// Number of times that this piece has been wrong.
        package var times = 0
    }

    /// - Returns: `nil` if no check of this piece is running.
    package mutating func checked(_ index: Int, isRight: Bool) -> Decision? {
        guard checking.remove(index) != nil else { return nil }
        let range = hashes.range(of: index, total: total)
        let sources = brought.filter { !$0.value.intersection(ByteSet(range)).isEmpty }.map(\.key)
        var decision = Decision()
        guard !isRight else {
            right.insert(contentsOf: index..<index + 1)
            if sources.count == 1 { decision.proven = sources.first }
            return decision
        }
        wrong[index, default: 0] += 1
        decision.times = wrong[index, default: 0]
        // A piece with bytes of unknown origin proves nothing about a source.
        decision.culprit = sources.first { brought[$0]?.containsAll(of: range) ?? false }
        if sources.count > 1 { decision.culprit = nil }
        decision.forgotten = [range]
        for source in sources { brought[source]?.remove(contentsOf: range) }
        seen.remove(contentsOf: range)
        return decision
    }

    /// Resets the failures of a piece after its culprit was dropped. The other sources get the full number of attempts.
    mutating func resetAttempts(_ index: Int) { wrong[index] = nil }

    /// Forgets and returns the bytes of a source that sent wrong bytes, so that they are fetched again. Bytes of pieces
    /// that were found right or are being checked stay. The source stays recorded for the pieces that are being
    /// checked, because a wrong piece would otherwise count as an attempt of the other sources.
    mutating func discardBytes(_ source: Int) -> [Range<Int64>] {
        guard let all = brought.removeValue(forKey: source) else { return [] }
        var unproven = all
        for pieces in right.ranges {
            let lower = hashes.range(of: pieces.lowerBound, total: total).lowerBound
            let upper = hashes.range(of: pieces.upperBound - 1, total: total).upperBound
            unproven.remove(contentsOf: lower..<upper)
        }
        // Keeps the bytes of pieces that are being checked, because the running check decides about the bytes.
        for index in checking {
            let piece = hashes.range(of: index, total: total)
            unproven.remove(contentsOf: piece)
            for range in all.intersection(ByteSet(piece)).ranges { note(range, from: source) }
        }
        for range in unproven.ranges { seen.remove(contentsOf: range) }
        return Array(unproven.ranges)
    }
}
