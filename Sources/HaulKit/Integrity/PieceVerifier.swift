/// Which pieces of a file have been found right, and who brought the bytes of the others.
struct PieceVerifier: Sendable, Equatable {
    let hashes: PieceHashes
    let total: Int64
    private(set) var right = IndexRanges()
    private var checking: Set<Int> = []
    /// Times that a piece had the wrong digest.
    private var wrong: [Int: Int] = [:]
    /// What each source brought in this run.
    private var brought: [Int: ByteSet] = [:]
    private var seen = ByteSet()

    /// Pieces by number, as stretches.
    typealias IndexRanges = RangeSet<Int>

    init(_ hashes: PieceHashes, total: Int64) {
        self.hashes = hashes
        self.total = total
    }

    var isDone: Bool { checking.isEmpty && right == IndexRanges(0..<hashes.digests.count) }
    var isChecking: Bool { !checking.isEmpty }

    /// The answers to checks that were under way may have been missed: whatever was not found right is checked again.
    mutating func resume() {
        checking = []
        seen = ByteSet()
    }

    /// Nothing is here any more. How often a piece was wrong is remembered, so that this comes to an end.
    mutating func startOver() {
        resume()
        right = IndexRanges()
        brought = [:]
    }

    /// A source brought these bytes.
    mutating func note(_ range: Range<Int64>, from source: Int) {
        guard !range.isEmpty else { return }
        brought[source, default: ByteSet()].insert(contentsOf: range)
    }

    /// The pieces that have become complete since the last call: they are to be checked.
    mutating func complete(_ written: ByteSet) -> [Int] {
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

    struct Decision: Sendable, Equatable {
        /// Bytes that are missing again.
        var forgotten: [Range<Int64>] = []
        /// The source that surely sent wrong bytes.
        var culprit: Int?
        /// The only ones that may have sent right ones.
        var proven: Int?
        /// How often this piece has been wrong.
        var times = 0
    }

    /// - Returns: nil when this check was not asked for.
    mutating func checked(_ index: Int, isRight: Bool) -> Decision? {
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

    /// Who made this piece wrong is known and gone: what the others bring of it has as many attempts as before.
    mutating func resetAttempts(_ index: Int) { wrong[index] = nil }

    /// What a source brought of pieces that were not found right: not to be relied on once it has been convicted. Of pieces that
    /// are being checked it stays known who brought them: were they forgotten, a wrong piece of the same source would count as
    /// an attempt of the others.
    mutating func discardBytes(_ source: Int) -> [Range<Int64>] {
        guard let all = brought.removeValue(forKey: source) else { return [] }
        var unproven = all
        for pieces in right.ranges {
            let lower = hashes.range(of: pieces.lowerBound, total: total).lowerBound
            let upper = hashes.range(of: pieces.upperBound - 1, total: total).upperBound
            unproven.remove(contentsOf: lower..<upper)
        }
        // What is being checked will be judged by itself.
        for index in checking {
            let piece = hashes.range(of: index, total: total)
            unproven.remove(contentsOf: piece)
            for range in all.intersection(ByteSet(piece)).ranges { note(range, from: source) }
        }
        for range in unproven.ranges { seen.remove(contentsOf: range) }
        return Array(unproven.ranges)
    }
}
