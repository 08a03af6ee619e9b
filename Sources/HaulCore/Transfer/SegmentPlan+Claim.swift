/// Chooses the bytes that a free connection gets: a gap, or a part of the segment of a slower connection.
extension SegmentPlan {
    /// Usual time from a request to its first byte.
    static let usualRequestTime: Duration = .milliseconds(100)

    /// Gives a free connection the bytes that a reader waits for, if no other connection brings them soon. Otherwise
    /// gives it the first gap. If there is no gap, cuts the segment with the most time left and gives its last part.
    /// - Parameters:
    ///   - speeds: bytes per second. A connection without an entry, including `id`, counts with the mean of the others.
    ///   - most: maximum number of bytes of a gap to give. The range may be a little shorter, so that the rest is not
    ///     shorter than the smallest piece.
    ///   - requestTime: time to the first byte of a new request. A segment that will be done sooner stays whole.
    ///   - readers: positions at which readers wait, most urgent first.
    /// - Returns: `nil` if nothing is worth a request of its own, or if the connection is not free.
    package mutating func claim(
        for id: ConnectionID,
        speeds: [ConnectionID: Double],
        most: Int64? = nil,
        requestTime: Duration = usualRequestTime,
        readers: [Int64] = []
    ) -> Claim? {
        guard segments[id] == nil else { return nil }
        if let claim = claim(for: id, readers: readers, speeds: speeds, most: most) { return claim }
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
        narrow(best.victim, to: best.point)
        give(best.point..<end, to: id, isHedge: false)
        return Claim(
            range: best.point..<end,
            narrowed: Narrowing(id: best.victim, newEnd: best.point),
            isHedge: false
        )
    }

    /// Requests the rest of the slowest segment a second time, near the end of the file. The bytes that arrive first
    /// are used.
    ///
    /// A hedge is worth it if it needs at most two thirds of the time that the first connection still needs. If both
    /// are equally fast, repeating the whole rest is not worth it. The hedge then takes only the last part of the rest,
    /// as if the rest were long enough to be cut. No byte is requested more than twice.
    ///
    /// All hedges of a file together request at most 1 % of its bytes. In a small file they may request as many bytes
    /// as the longest segment that cannot be cut. A connection that stands still can thus be replaced in a file of any
    /// size.
    /// - Returns: `nil` if a hedge is not worth it, if too many bytes have been requested twice, or if bytes are
    ///   unassigned.
    mutating func hedge(
        for id: ConnectionID,
        speeds: [ConnectionID: Double],
        requestTime: Duration = usualRequestTime
    ) -> Claim? {
        guard segments[id] == nil, firstGap == nil, speeds[id] != 0 else { return nil }
        let speeds = SegmentSpeeds(speeds)
        let latency = requestTime.seconds
        let allowance = max(total / 100, split.shortestCuttable) - duplicateBytes
        // Hedges of a last part get half of the 1 %. The other half is for hedges of connections that stand still.
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
        noteHedge(best.range, of: best.victim)
        give(best.range, to: id, isHedge: true)
        return Claim(range: best.range, narrowed: nil, isHedge: true)
    }

    /// Returns where to cut a gap that is longer than `most`. If the rest were shorter than the smallest piece, the cut
    /// comes earlier by the difference.
    func cut(_ gap: Range<Int64>, to most: Int64?) -> Int64 {
        let length = gap.upperBound - gap.lowerBound
        guard let most, max(most, 1) < length else { return gap.upperBound }
        let end = gap.lowerBound + max(most, 1)
        let spared = gap.upperBound - min(split.smallestPiece, length)
        let uncrumbed = spared - gap.lowerBound >= split.smallestPiece ? min(end, spared) : end
        let aligned = uncrumbed - uncrumbed % split.alignment
        return aligned > gap.lowerBound ? aligned : uncrumbed
    }

    /// Orders by the most time left. A tie goes to the longer segment, then to the older connection, so that equal
    /// plans decide equally.
    private func comesFirst(_ left: (id: ConnectionID, seconds: Double), _ right: (id: ConnectionID, seconds: Double))
        -> Bool
    {
        if left.seconds != right.seconds { return left.seconds > right.seconds }
        let lengths = (segments[left.id]?.remaining ?? 0, segments[right.id]?.remaining ?? 0)
        return lengths.0 != lengths.1 ? lengths.0 > lengths.1 : left.id.number < right.id.number
    }
}
