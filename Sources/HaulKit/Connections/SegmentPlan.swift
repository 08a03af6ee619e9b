/// Who fetches what of a file whose length is known.
///
/// Every byte has landed, or is owed by a connection, or is unassigned; no two connections owe the same byte, but for hedges
/// (see `hedge`), which ask for the rest of another's segment a second time. Segments are cut only when a connection is free
/// to take a part, as late as possible, so that all end together however their speeds differ.
///
/// Nothing here is fast or slow by the size of the file: a step costs about as much as there are connections and, where
/// gaps are looked for, separate pieces that have landed.
struct SegmentPlan: Sendable, Equatable {
    typealias ConnectionID = DownloadMachine.ConnectionID

    /// About what one more request costs before its first byte comes.
    static let usualRequestTime: Duration = .milliseconds(100)

    /// Length of the file in bytes.
    let total: Int64
    private(set) var receivedRanges: ByteSet
    private(set) var segments: [ConnectionID: Segment] = [:]
    /// Bytes that were asked for a second time: those that came twice, and those that still might.
    private(set) var duplicateBytes: Int64 = 0
    /// Where segments end whose last part was asked for a second time: once is enough.
    private var tails: Set<Int64> = []
    private let split: SegmentSplit

    /// - Parameters:
    ///   - landed: what is there already; what lies outside the file is ignored.
    ///   - smallestPiece: no segment is cut into parts shorter than this many bytes.
    ///   - alignment: segments are cut at multiples of this only.
    init(total: Int64, receivedRanges: ByteSet, smallestPiece: Int64 = 256 << 10, alignment: Int64 = 1) {
        self.total = max(total, 0)
        let file = RangeSet(0..<self.total)
        self.receivedRanges = receivedRanges.intersection(file)
        split = SegmentSplit(smallestPiece: smallestPiece, alignment: alignment)
    }

    // MARK: What is where

    var isComplete: Bool {
        total == 0 || (receivedRanges.ranges.count == 1 && receivedRanges.ranges.first == 0..<total)
    }

    /// What has not landed.
    var missing: ByteSet { RangeSet(0..<total).subtracting(receivedRanges) }

    /// What has neither landed nor is owed.
    var unassigned: ByteSet { missing.subtracting(RangeSet(segments.values.map(\.remainingRange))) }

    /// The first bytes that have neither landed nor an owner, up to the next that have: what a first or only connection asks for.
    var firstGap: Range<Int64>? {
        let remainingRange = segments.values.map(\.remainingRange).sorted { $0.lowerBound < $1.lowerBound }
        var coveredTo: Int64 = 0
        var next = remainingRange.startIndex
        /// Moves past what is owed; the gap before it, if there is one.
        func gap(before limit: Int64) -> Range<Int64>? {
            while next < remainingRange.endIndex, remainingRange[next].lowerBound < limit {
                if remainingRange[next].lowerBound > coveredTo { return coveredTo..<remainingRange[next].lowerBound }
                coveredTo = max(coveredTo, remainingRange[next].upperBound)
                next += 1
            }
            return coveredTo < limit ? coveredTo..<limit : nil
        }
        for piece in receivedRanges.ranges {
            if let gap = gap(before: piece.lowerBound) { return gap }
            coveredTo = max(coveredTo, piece.upperBound)
        }
        return gap(before: total)
    }

    // MARK: Giving out

    /// Gives a range to a connection that has none.
    /// - Returns: false, and nothing changes, unless the range is unassigned and the connection is free.
    mutating func assign(_ range: Range<Int64>, to id: ConnectionID) -> Bool {
        guard segments[id] == nil, !range.isEmpty, range.lowerBound >= 0, range.upperBound <= total,
            !receivedRanges.intersects(range), !segments.values.contains(where: { $0.remainingRange.overlaps(range) })
        else { return false }
        give(range, to: id, isHedge: false)
        return true
    }

    /// What a free connection is to fetch: the first gap, or else a part of the segment that has the most time left, which is
    /// cut short for it.
    /// - Parameters:
    ///   - speeds: bytes a second. A connection that is not in it counts with the mean of the others, this one as well
    ///     (unless the caller knows better, from the mirror that it will ask).
    ///   - most: a gap is cut to this many bytes, or a little less rather than leave a crumb behind.
    ///   - requestTime: a segment that will be done sooner than a new request would bring anything stays whole.
    /// - Returns: nil when there is nothing worth a request of its own.
    mutating func claim(
        for id: ConnectionID,
        speeds: [ConnectionID: Double],
        most: Int64? = nil,
        requestTime: Duration = usualRequestTime
    ) -> Claim? {
        guard segments[id] == nil else { return nil }
        if let gap = firstGap {
            let range = gap.lowerBound..<cut(gap, to: most)
            give(range, to: id, isHedge: false)
            return Claim(range: range, narrowed: nil, isHedge: false)
        }
        let speeds = SegmentSpeeds(speeds)
        let latency = requestTime.seconds
        var best: (victim: ConnectionID, point: Int64, seconds: Double)?
        for (victim, segment) in segments
        where !segment.isHedge && !isHedged(segment) && !receivedRanges.intersects(segment.remainingRange) {
            let seconds = speeds.seconds(segment.remaining, by: victim)
            guard speeds.of(victim) == nil || seconds > latency,
                let point = split.point(in: segment.remainingRange, victim: speeds.of(victim), taker: speeds.of(id))
            else { continue }
            if let best, !comesFirst((victim, seconds), (best.victim, best.seconds)) { continue }
            best = (victim, point, seconds)
        }
        guard let best, let end = segments[best.victim]?.end else { return nil }
        segments[best.victim]?.end = best.point
        give(best.point..<end, to: id, isHedge: false)
        return Claim(
            range: best.point..<end,
            narrowed: Narrowing(id: best.victim, newEnd: best.point),
            isHedge: false
        )
    }

    /// For the last bytes: what is left of the slowest segment, asked for a second time. The first to have it wins.
    ///
    /// Worth it when the second request is expected to be done in two thirds of the time that the first still needs, which it
    /// is not where both are as fast: then the part of the rest that it would have first, were the rest long enough to be cut.
    /// The same bytes are asked for twice at most.
    ///
    /// All hedges of a file together ask for no more than one byte in a hundred. A small file may spend as much as a segment
    /// that is too short to be cut can hold: one that stands still can be replaced, then, in a file of any size.
    /// - Returns: nil where it is not worth it, or too much has been asked for twice, or there are unassigned bytes.
    mutating func hedge(
        for id: ConnectionID,
        speeds: [ConnectionID: Double],
        requestTime: Duration = usualRequestTime
    ) -> Claim? {
        guard segments[id] == nil, firstGap == nil, speeds[id] != 0 else { return nil }
        let speeds = SegmentSpeeds(speeds)
        let latency = requestTime.seconds
        let allowance = max(total / 100, split.longestUncut) - duplicateBytes
        // Where both are fast, half of the hundredth; the rest is for those that stand still.
        let allowanceForTails = total / 200 - duplicateBytes
        var best: (range: Range<Int64>, victim: ConnectionID, seconds: Double)?
        for (victim, segment) in segments where !segment.isHedge && !isHedged(segment) {
            let rest = receivedRanges.firstMissing(in: segment.remainingRange)..<segment.end
            let seconds = speeds.seconds(segment.remaining, by: victim)
            guard !rest.isEmpty, let speed = speeds.of(victim) else { continue }
            func isWorth(_ range: Range<Int64>) -> Bool {
                let count = range.upperBound - range.lowerBound
                return count <= allowance
                    && (speed == 0 || (latency + speeds.seconds(count, by: id)) * 1.5 <= seconds)
            }
            var range: Range<Int64>?
            if isWorth(rest) {
                range = rest
            } else if !tails.contains(segment.end),
                let tail = split.tail(of: rest, victim: speed, taker: speeds.of(id)),
                isWorth(tail), tail.upperBound - tail.lowerBound <= allowanceForTails
            {
                range = tail
            }
            guard let range else { continue }
            if let best, !comesFirst((victim, seconds), (best.victim, best.seconds)) { continue }
            best = (range, victim, seconds)
        }
        guard let best else { return nil }
        if best.range.lowerBound > segments[best.victim]?.position ?? 0 { tails.insert(best.range.upperBound) }
        duplicateBytes += best.range.upperBound - best.range.lowerBound
        give(best.range, to: id, isHedge: true)
        return Claim(range: best.range, narrowed: nil, isHedge: true)
    }

    // MARK: What happens to it

    /// The bytes of this connection's segment before `position` have landed. What lies beyond the segment is ignored, and so
    /// is a position that was reached before.
    /// - Returns: the connections that owe nothing any more and have no segment from now on, in the order of their numbers:
    ///   this one, the one that it was a hedge of, its own hedge.
    mutating func advance(_ id: ConnectionID, to position: Int64) -> [ConnectionID] {
        guard let segment = segments[id], position > segment.position else { return [] }
        let reached = min(position, segment.end)
        receivedRanges.insert(contentsOf: segment.position..<reached)
        segments[id]?.position = reached
        // Segments that share bytes share their end: a hedge takes all the rest, and neither is cut from then on.
        let done = segments.filter {
            $0.value.end == segment.end && receivedRanges.firstMissing(in: $0.value.remainingRange) == segment.end
        }
        for id in done.keys { release(id) }
        return done.keys.sorted { $0.number < $1.number }
    }

    /// Takes over bytes that have landed by whatever way: a connection that was cut short may have brought a little more.
    mutating func absorb(_ written: ByteSet) {
        receivedRanges.formUnion(written.intersection(ByteSet(0..<total)))
    }

    /// Lets a connection that has just been given a segment have no more of it than `count` bytes; the rest is unassigned.
    mutating func trim(_ id: ConnectionID, to count: Int64) {
        guard let segment = segments[id], !segment.isHedge, segment.remaining > max(1, count) else { return }
        segments[id]?.end = segment.position + max(1, count)
    }

    /// Gives a connection what follows its segment and is unassigned, up to `reach` at most.
    ///
    /// - Returns: its new end; nil when it stays as it was.
    mutating func extend(_ id: ConnectionID, to reach: Int64) -> Int64? {
        guard let segment = segments[id], !segment.isHedge, !isHedged(segment) else { return nil }
        let remainingRange = segments.values.filter { $0.position >= segment.end }.map(\.position)
        let here = receivedRanges.ranges.filter { $0.upperBound > segment.end }.map { max($0.lowerBound, segment.end) }
        let end = min(reach, total, remainingRange.min() ?? total, here.min() ?? total)
        guard end > segment.end,
            !segments.contains(where: { $0.key != id && $0.value.remainingRange.overlaps(segment.end..<end) })
        else { return nil }
        segments[id]?.end = end
        return end
    }

    /// The connection is gone. What it owed is unassigned again, unless a hedge owes it too.
    mutating func release(_ id: ConnectionID) {
        guard let segment = segments.removeValue(forKey: id) else { return }
        // With one of two that share bytes gone, none of them comes twice any more.
        if let (_, other) = segments.first(where: { $0.value.end == segment.end }), segment.isHedge || other.isHedge {
            let (hedge, main) = segment.isHedge ? (segment, other) : (other, segment)
            // What the one that goes has brought of it, the other brings again, unless it is needless by now.
            let ends = receivedRanges.firstMissing(in: other.remainingRange) == other.end
            let reached = ends ? min(hedge.position, main.position) : segment.position
            duplicateBytes -= hedge.end - max(hedge.start, reached)
        }
        promoteHedge(endingAt: segment.end)
    }

    /// These bytes proved wrong and are missing again. A connection that is still to bring some of them will; those behind
    /// its position are unassigned.
    mutating func forget(_ range: Range<Int64>) {
        let inside = range.clamped(to: 0..<total)
        if !inside.isEmpty { receivedRanges.remove(contentsOf: inside) }
    }

    // MARK: Inner workings

    private mutating func give(_ range: Range<Int64>, to id: ConnectionID, isHedge: Bool) {
        segments[id] = Segment(
            start: range.lowerBound,
            position: range.lowerBound,
            end: range.upperBound,
            isHedge: isHedge
        )
    }

    private func isHedged(_ segment: Segment) -> Bool {
        segments.values.contains { $0.isHedge && $0.end == segment.end }
    }

    /// A hedge whose first connection is gone is a segment like any other.
    private mutating func promoteHedge(endingAt end: Int64) {
        let sharing = segments.filter { $0.value.end == end }
        guard sharing.count == 1, let id = sharing.keys.first else { return }
        segments[id]?.isHedge = false
    }

    /// Where to cut a gap that is longer than `most`. Were the rest shorter than the smallest piece, the cut comes so much earlier.
    private func cut(_ gap: Range<Int64>, to most: Int64?) -> Int64 {
        let length = gap.upperBound - gap.lowerBound
        guard let most, max(most, 1) < length else { return gap.upperBound }
        let end = gap.lowerBound + max(most, 1)
        let spared = gap.upperBound - min(split.smallestPiece, length)
        let uncrumbed = spared - gap.lowerBound >= split.smallestPiece ? min(end, spared) : end
        let aligned = uncrumbed - uncrumbed % split.alignment
        return aligned > gap.lowerBound ? aligned : uncrumbed
    }

    /// Most time left first. A tie goes to the longer, then to the older, so that equal plans decide equally.
    private func comesFirst(_ left: (id: ConnectionID, seconds: Double), _ right: (id: ConnectionID, seconds: Double))
        -> Bool
    {
        if left.seconds != right.seconds { return left.seconds > right.seconds }
        let lengths = (segments[left.id]?.remaining ?? 0, segments[right.id]?.remaining ?? 0)
        return lengths.0 != lengths.1 ? lengths.0 > lengths.1 : left.id.number < right.id.number
    }
}
