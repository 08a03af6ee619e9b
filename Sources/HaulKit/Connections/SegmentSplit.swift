/// Where a segment is cut in two, so that both parts are done at the same time.
struct SegmentSplit: Sendable, Equatable {
    /// Neither part may be shorter. Bytes, at least 1.
    let smallestPiece: Int64
    /// Parts meet at multiples of this only (the length of a hashed piece, say), so that each piece has one origin.
    let alignment: Int64

    /// Zero and less count as 1, and there is a ceiling that no file reaches, so that sums do not overflow.
    init(smallestPiece: Int64, alignment: Int64) {
        let sane: ClosedRange<Int64> = 1...(1 << 60)
        self.smallestPiece = min(max(smallestPiece, sane.lowerBound), sane.upperBound)
        self.alignment = min(max(alignment, sane.lowerBound), sane.upperBound)
    }

    /// Anything as long as this can be cut, speeds permitting.
    var longestUncut: Int64 { 2 * smallestPiece + alignment - 1 }

    /// A new connection is not trusted with less than half, since the other has a head start of unknown worth, nor with
    /// all but everything, since its speed is a guess.
    private static let share = 0.5...(15.0 / 16)

    /// - Parameters:
    ///   - owed: what the connection has not brought yet.
    ///   - victim: bytes a second of the connection that has it; nil where it is not known, and then `taker` is not
    ///     either.
    ///   - taker: bytes a second that the free connection is expected to reach.
    /// - Returns: where the part of the victim ends; nil when no cut leaves two parts long enough.
    func point(in remainingRange: Range<Int64>, victim: Double?, taker: Double?) -> Int64? {
        let remaining = remainingRange.upperBound - remainingRange.lowerBound
        guard smallestPiece <= remaining / 2 else { return nil }
        let lowest = remainingRange.lowerBound + smallestPiece
        let highest = remainingRange.upperBound - smallestPiece
        let ideal = remainingRange.upperBound - taken(of: remaining, victim: victim, taker: taker)
        return aligned(min(max(ideal, lowest), highest), within: lowest...highest)
    }

    /// The end of a rest that is too short to be cut, for a second connection that begins there: it has it about when the
    /// first arrives.
    ///
    /// - Returns: nil where that would be less than a request is worth.
    func tail(of rest: Range<Int64>, victim: Double, taker: Double?) -> Range<Int64>? {
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
