/// Gives connections the places in the file where readers wait.
extension SegmentPlan {
    /// Location of the first missing byte for a reader.
    enum Demand: Sendable, Equatable {
        /// In an unassigned range. The range begins at the byte if that is a multiple of the alignment, else at the
        /// last multiple before it. If bytes after that multiple have landed or are owed, the range begins behind them.
        case unassigned(Range<Int64>)
        /// In the segment of a connection, which brings `ahead` other bytes first.
        case owed(by: ConnectionID, at: Int64, ahead: Int64)
    }

    /// Returns the location of the first missing byte from `position` on; `nil` if no byte is missing from there on.
    func demand(at position: Int64) -> Demand? {
        let wanted = receivedRanges.end(from: max(position, 0))
        guard wanted < total else { return nil }
        let owner =
            segments
            .filter { $0.value.remainingRange.contains(wanted) }
            .min { ($1.value.position, $0.key.number) < ($0.value.position, $1.key.number) }
        if let owner { return .owed(by: owner.key, at: wanted, ahead: wanted - owner.value.position) }
        let ends = segments.values.map(\.end) + receivedRanges.ranges.map(\.upperBound)
        let starts = segments.values.map(\.position) + receivedRanges.ranges.map(\.lowerBound)
        let lower = ends.filter { $0 <= wanted }.max() ?? 0
        let upper = starts.filter { $0 > wanted }.min() ?? total
        return .unassigned(max(lower, wanted - wanted % split.alignment)..<upper)
    }

    /// Returns whether a reader at `position` waits for bytes that no connection brings within ``soon``. If no speed
    /// was measured, a connection counts as bringing its next `smallestPiece` bytes soon.
    func lacksConnection(at position: Int64, speeds: [ConnectionID: Double]) -> Bool {
        switch demand(at: position) {
        case nil: false
        case .unassigned: true
        case .owed(let id, _, let ahead): !isSoon(ahead, by: id, SegmentSpeeds(speeds))
        }
    }

    private func isSoon(_ ahead: Int64, by id: ConnectionID, _ speeds: SegmentSpeeds) -> Bool {
        guard ahead > 0 else { return true }
        guard speeds.of(id) != nil else { return ahead <= split.smallestPiece }
        return speeds.seconds(ahead, by: id) <= Self.soon.seconds
    }

    /// Time within which bytes count as coming soon. No segment is cut for a reader whose bytes come within this time.
    static let soon: Duration = .seconds(1)

    /// Gives a free connection the bytes for the first of `readers` whose bytes no other connection brings soon.
    ///
    /// - Returns: `nil` if there is no such reader, if no segment can be cut for one, or if the connection is not free.
    mutating func claim(
        for id: ConnectionID,
        readers: [Int64],
        speeds: [ConnectionID: Double],
        most: Int64?
    ) -> Claim? {
        guard segments[id] == nil else { return nil }
        for position in readers {
            if let claim = claim(for: id, readAt: position, speeds: speeds, most: most) { return claim }
        }
        return nil
    }

    /// Gives a free connection the place where a reader waits: an unassigned range, or the part of a segment from there
    /// on.
    ///
    /// - Returns: `nil` if another connection brings the bytes soon, or the segment cannot be cut there.
    private mutating func claim(
        for id: ConnectionID,
        readAt position: Int64,
        speeds: [ConnectionID: Double],
        most: Int64?
    ) -> Claim? {
        switch demand(at: position) {
        case nil: return nil
        case .unassigned(let gap):
            let range = gap.lowerBound..<cut(gap, to: most)
            give(range, to: id, isHedge: false)
            return Claim(range: range, narrowed: nil, isHedge: false)
        case .owed(let victim, let wanted, let ahead):
            let point = wanted - wanted % split.alignment
            guard !isSoon(ahead, by: victim, SegmentSpeeds(speeds)), let segment = segments[victim],
                point > segment.position, !segment.isHedge, !isHedged(segment),
                !receivedRanges.intersects(segment.remainingRange)
            else { return nil }
            narrow(victim, to: point)
            give(point..<segment.end, to: id, isHedge: false)
            return Claim(
                range: point..<segment.end,
                narrowed: Narrowing(id: victim, newEnd: point),
                isHedge: false
            )
        }
    }
}
