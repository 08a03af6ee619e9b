/// Assigns the bytes of a file of known length to connections.
///
/// Each byte has landed, is owed by a connection, or is unassigned. No two connections owe the same byte, except for
/// hedges (see `hedge`), which request the rest of another segment a second time. Segments are cut only when a
/// connection is free to take a part. Cutting as late as possible lets all connections end together, however their
/// speeds differ.
///
/// The cost of a step does not depend on the size of the file. It grows with the number of connections and, if the step
/// looks for gaps, with the number of separate received ranges.
package struct SegmentPlan: Sendable, Equatable {
    package typealias ConnectionID = DownloadMachine.ConnectionID

    /// Length of the file in bytes.
    package let total: Int64
    package private(set) var receivedRanges: ByteSet
    package private(set) var segments: [ConnectionID: Segment] = [:]
    /// Bytes that were requested twice: bytes that came twice, and bytes that may still come twice.
    private(set) var duplicateBytes: Int64 = 0
    /// Ends of the segments whose last part was requested a second time. Such a part is not requested a third time.
    private(set) var tails: Set<Int64> = []
    let split: SegmentSplit

    /// - Parameters:
    ///   - receivedRanges: bytes that are there already. Those outside the file are ignored.
    ///   - smallestPiece: no segment is cut into parts shorter than this many bytes.
    ///   - alignment: segments are cut only at multiples of this number of bytes.
    package init(total: Int64, receivedRanges: ByteSet, smallestPiece: Int64 = 256 << 10, alignment: Int64 = 1) {
        self.total = max(total, 0)
        let file = RangeSet(0..<self.total)
        self.receivedRanges = receivedRanges.intersection(file)
        split = SegmentSplit(smallestPiece: smallestPiece, alignment: alignment)
    }

    // MARK: What is where

    package var isComplete: Bool {
        total == 0 || (receivedRanges.ranges.count == 1 && receivedRanges.ranges.first == 0..<total)
    }

    /// Bytes that have not landed.
    package var missing: ByteSet { RangeSet(0..<total).subtracting(receivedRanges) }

    /// Bytes that have neither landed nor are owed.
    var unassigned: ByteSet { missing.subtracting(RangeSet(segments.values.map(\.remainingRange))) }

    /// The first range that has neither landed nor is owed. A free connection gets this range unless a reader waits for
    /// other bytes.
    var firstGap: Range<Int64>? {
        let remainingRange = segments.values.map(\.remainingRange).sorted { $0.lowerBound < $1.lowerBound }
        var coveredTo: Int64 = 0
        var next = remainingRange.startIndex
        /// Moves past the segments that begin before `limit`. Returns the first gap before `limit`; `nil` if there is
        /// none.
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
    /// - Returns: `false` if the range is empty or lies outside the file, if any of its bytes has landed or is owed, or
    ///   if the connection is not free. Nothing changes then.
    package mutating func assign(_ range: Range<Int64>, to id: ConnectionID) -> Bool {
        guard segments[id] == nil, !range.isEmpty, range.lowerBound >= 0, range.upperBound <= total,
            !receivedRanges.intersects(range), !segments.values.contains(where: { $0.remainingRange.overlaps(range) })
        else { return false }
        give(range, to: id, isHedge: false)
        return true
    }

    // MARK: What happens to it

    /// Notes that the bytes of the connection's segment before `position` have landed. Ignores bytes beyond the segment
    /// and a position that was reached before.
    /// - Returns: the connections that owe nothing any more and have lost their segment, in the order of their numbers.
    ///   These can be `id`, the connection whose bytes `id` repeats, and the hedge that repeats the bytes of `id`.
    package mutating func advance(_ id: ConnectionID, to position: Int64) -> [ConnectionID] {
        guard let segment = segments[id], position > segment.position else { return [] }
        let reached = min(position, segment.end)
        receivedRanges.insert(contentsOf: segment.position..<reached)
        segments[id]?.position = reached
        // Segments that share bytes have the same end, because a hedge takes the last bytes of a segment and neither is
        // cut from then on.
        let done = segments.filter {
            $0.value.end == segment.end && receivedRanges.firstMissing(in: $0.value.remainingRange) == segment.end
        }
        for id in done.keys { release(id) }
        return done.keys.sorted { $0.number < $1.number }
    }

    /// Adds all written bytes, also those outside of segments: a connection whose segment was shortened may have
    /// brought bytes behind its new end.
    mutating func absorb(_ written: ByteSet) {
        receivedRanges.formUnion(written.intersection(ByteSet(0..<total)))
    }

    /// Moves the end of the segment of a connection to `end`, because another connection brings the bytes behind it.
    mutating func narrow(_ id: ConnectionID, to end: Int64) { segments[id]?.end = end }

    /// Limits the new segment of a connection to `count` bytes. The rest becomes unassigned.
    package mutating func trim(_ id: ConnectionID, to count: Int64) {
        guard let segment = segments[id], !segment.isHedge, segment.remaining > max(1, count) else { return }
        segments[id]?.end = segment.position + max(1, count)
    }

    /// Extends the segment of a connection over the unassigned bytes behind it, at most to `reach`.
    ///
    /// - Returns: the new end of the segment; `nil` if it stays as it was.
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

    /// Removes the segment of a connection that has ended or owes nothing any more. The bytes that it still owed become
    /// unassigned, unless another connection owes them too.
    package mutating func release(_ id: ConnectionID) {
        guard let segment = segments.removeValue(forKey: id) else { return }
        // Two connections owed the same bytes, and only `other` still has a segment for them.
        if let (_, other) = segments.first(where: { $0.value.end == segment.end }), segment.isHedge || other.isHedge {
            let (hedge, main) = segment.isHedge ? (segment, other) : (other, segment)
            // Subtracts the bytes that arrive only once. If `other` still owes its rest, the bytes that the released
            // connection has received come twice. Otherwise only the bytes that both have received came twice.
            let ends = receivedRanges.firstMissing(in: other.remainingRange) == other.end
            let reached = ends ? min(hedge.position, main.position) : segment.position
            duplicateBytes -= hedge.end - max(hedge.start, reached)
        }
        promoteHedge(endingAt: segment.end)
    }

    /// Marks wrong bytes as missing again. Bytes in the rest of a segment stay with its connection. All others become
    /// unassigned.
    package mutating func forget(_ range: Range<Int64>) {
        let inside = range.clamped(to: 0..<total)
        if !inside.isEmpty { receivedRanges.remove(contentsOf: inside) }
    }

    // MARK: Inner workings

    mutating func give(_ range: Range<Int64>, to id: ConnectionID, isHedge: Bool) {
        segments[id] = Segment(
            start: range.lowerBound,
            position: range.lowerBound,
            end: range.upperBound,
            isHedge: isHedge
        )
    }

    /// Notes that a hedge requests `range` of the segment of `victim` a second time.
    mutating func noteHedge(_ range: Range<Int64>, of victim: ConnectionID) {
        if range.lowerBound > segments[victim]?.position ?? 0 { tails.insert(range.upperBound) }
        duplicateBytes += range.upperBound - range.lowerBound
    }

    func isHedged(_ segment: Segment) -> Bool {
        segments.values.contains { $0.isHedge && $0.end == segment.end }
    }

    /// Makes a hedge an ordinary segment if the connection whose bytes it repeated is gone.
    private mutating func promoteHedge(endingAt end: Int64) {
        let sharing = segments.filter { $0.value.end == end }
        guard sharing.count == 1, let id = sharing.keys.first else { return }
        segments[id]?.isHedge = false
    }
}
