/// Finds the point at which a segment is cut in two, so that both parts are done at the same time.
package struct SegmentSplit: Sendable, Equatable {
    /// Shortest length of a part in bytes, at least 1: `Configuration.Connections.smallestPiece`.
    package let smallestPiece: Int64
    /// Segments are cut only at multiples of this number of bytes (for example the length of a hashed piece), so that
    /// each piece comes over one connection.
    package let alignment: Int64

    /// Values below 1 count as 1. Both values have a ceiling that no file reaches, so that sums do not overflow.
    package init(smallestPiece: Int64, alignment: Int64) {
        let sane: ClosedRange<Int64> = 1...(1 << 60)
        self.smallestPiece = min(max(smallestPiece, sane.lowerBound), sane.upperBound)
        self.alignment = min(max(alignment, sane.lowerBound), sane.upperBound)
    }

    /// Shortest length at which every range can be cut. The longest range that may have to stay whole has one byte
    /// less. Whether a cut is worth it depends on the speeds.
    package var shortestCuttable: Int64 { 2 * smallestPiece + alignment - 1 }

    /// Limits of the share that a new connection gets. It gets at least half even if the running connection was faster,
    /// because that connection may become slower. It gets at most 15/16, because its own speed is only expected.
    private static let share = 0.5...(15.0 / 16)

    /// - Parameters:
    ///   - remainingRange: bytes that the victim has not brought yet.
    ///   - victim: bytes per second of the connection that owes the range; `nil` if unknown. Then `taker` is `nil` too.
    ///   - taker: bytes per second that the free connection is expected to reach.
    /// - Returns: the end of the victim's part; `nil` if no cut leaves two parts that are long enough.
    package func point(in remainingRange: Range<Int64>, victim: Double?, taker: Double?) -> Int64? {
        let remaining = remainingRange.upperBound - remainingRange.lowerBound
        guard smallestPiece <= remaining / 2 else { return nil }
        let lowest = remainingRange.lowerBound + smallestPiece
        let highest = remainingRange.upperBound - smallestPiece
        let ideal = remainingRange.upperBound - taken(of: remaining, victim: victim, taker: taker)
        return aligned(min(max(ideal, lowest), highest), within: lowest...highest)
    }

    /// Returns the last part of a rest that is too short to be cut. A second connection that requests this part has
    /// received it at about the time at which the first connection reaches it.
    ///
    /// - Returns: `nil` if the part is too short for a request of its own, or if ``alignment`` is not 1.
    package func tail(of rest: Range<Int64>, victim: Double, taker: Double?) -> Range<Int64>? {
        guard alignment == 1 else { return nil }
        let count = taken(of: rest.upperBound - rest.lowerBound, victim: victim, taker: taker)
        return count >= max(1, smallestPiece / 4) ? rest.upperBound - count..<rest.upperBound : nil
    }

    private func taken(of remaining: Int64, victim: Double?, taker: Double?) -> Int64 {
        guard let victim, let taker else { return remaining / 2 }
        guard victim > 0 else { return remaining }
        let share = taker / (victim + taker)
        return Int64(Double(remaining) * min(max(share, Self.share.lowerBound), Self.share.upperBound))
    }

    private func aligned(_ point: Int64, within limits: ClosedRange<Int64>) -> Int64? {
        let below = point - point % alignment
        let (above, overflow) = below.addingReportingOverflow(alignment)
        let fits = (limits.contains(below), !overflow && limits.contains(above))
        return switch fits {
        case (true, true): point - below <= above - point ? below : above
        case (true, false): below
        case (false, true): above
        case (false, false): nil
        }
    }
}
