/// Closes connections that bring too little or do not answer, so that better ones can take their place.
extension Transfer {
    /// Closes connections that are silent, or that are far slower than the others and still owe many bytes. A new
    /// connection is likely to be faster. The owed bytes become unassigned.
    mutating func replaceLaggards(_ sources: inout SourceSelector, at now: Instant) -> [Action] {
        // Closes the only connection if it is to a silent mirror. The primary source is then asked again.
        if active.count == 1, let (id, connection) = active.first, sources.isMirror(connection.source),
            now - connection.lastByte > Self.longestSilence
        {
            sources.noteFailure(of: connection.source)
            return drop(id)
        }
        guard let plan else { return [] }
        if let id = slowestOfADrip(plan, sources, at: now) {
            replacements += 1
            return drop(id)
        }
        guard active.count > 1 else { return [] }
        let speeds = active.compactMapValues { $0.measuredSpeed(at: now, after: ActiveConnection.earliestTrial) }
        let sorted = speeds.values.sorted()
        guard let fastest = sorted.last, fastest > 0 else { return [] }
        let median = sorted[sorted.count / 2]
        // Fewer than three connections are too few for a median, so the known speed of the source counts.
        func usual(_ connection: ActiveConnection) -> Double {
            sorted.count >= 3 ? median : sources.sources[connection.source].bytesPerSecond ?? 0
        }
        var actions: [Action] = []
        for id in openIDs {
            guard active.count > 1, let connection = active[id], let segment = plan.segments[id]
            else { continue }
            // ``dropIgnored(_:at:)`` handles connections without an answer.
            let isSilent = connection.isFlowing && now - connection.lastByte > Self.longestSilence
            var isSlow = false
            if replacements < Self.mostReplacements, let speed = speeds[id],
                let share = connection.leastShare(ofUsual: usual(connection), at: now),
                speed < share * usual(connection)
            {
                // Replacing a connection that is done in half a second is not worth it.
                isSlow = Double(segment.remaining) > speed * 0.5
            }
            guard isSilent || isSlow else { continue }
            if isSlow { replacements += 1 }
            if isSilent, sources.isMirror(connection.source) { sources.noteFailure(of: connection.source) }
            actions += drop(id)
        }
        return actions
    }

    /// Closes connections that the server has accepted but does not answer, although it has answered others much
    /// sooner. The bytes that they owe become unassigned. If no connection is left, the machine opens a first
    /// connection again. The very first connection cannot be compared with others, so only the timeout of the transport
    /// applies to it.
    mutating func dropIgnored(_ sources: inout SourceSelector, at now: Instant) -> [Action] {
        guard answers.slowest > .zero else { return [] }
        var actions: [Action] = []
        let isAnyFlowing = active.contains { id, connection in
            connection.isFlowing && plan?.segments[id].map { $0.remaining > 0 } ?? false
        }
        for id in openIDs {
            guard let connection = active[id], !connection.isFlowing else { continue }
            let waited = now - connection.opened
            // Drops an unanswered connection sooner if the connection that gave up a range to it will soon arrive at
            // that range. The range can be given back only before that moment.
            // Does so too if no other connection brings bytes any more.
            let isUrgent =
                waited > max(Self.shortestQuestion, answers.slowest * 4)
                && (!isAnyFlowing || isAboutToBeReached(id, at: now))
            guard isUrgent || waited > max(Self.longestQuestion, answers.slowest * 8) else { continue }
            if sources.isMirror(connection.source) { sources.noteFailure(of: connection.source) }
            actions += drop(id)
            if !sources.isMirror(connection.source) { actions += refused(nil, at: now) }
        }
        return actions
    }

    /// Returns whether another connection will reach the segment of `id` within a second. Counts only connections whose
    /// answers continue beyond their own segments.
    private func isAboutToBeReached(_ id: ConnectionID, at now: Instant) -> Bool {
        guard let plan, let start = plan.segments[id]?.position else { return false }
        return plan.segments.contains { other, segment in
            guard segment.end == start, let before = active[other], before.isShortened, before.reach > start,
                let speed = before.measuredSpeed(at: now)
            else { return false }
            return Double(segment.remaining) < speed
        }
    }

    private static let shortestQuestion = Duration.seconds(1)
    private static let longestQuestion = Duration.seconds(5)

    /// Returns the slowest connection if all connections together bring less than 1 % of the best speed that one
    /// connection has had. A comparison of the open connections does not show this, because all of them are slow.
    /// Returns `nil` otherwise, or if a connection was measured for less than `longestSilence`, or if no other
    /// connection may be opened.
    private func slowestOfADrip(_ plan: SegmentPlan, _ sources: SourceSelector, at now: Instant) -> ConnectionID? {
        guard replacements < Self.mostReplacements, !isSolitary, terms.limits.connections > 1,
            let best = sources.sources.compactMap(\.bytesPerSecond).max()
        else { return nil }
        var together = 0.0
        var slowest: (id: ConnectionID, speed: Double)?
        for id in openIDs {
            guard let connection = active[id], let segment = plan.segments[id],
                let speed = connection.measuredSpeed(at: now, after: Self.longestSilence)
            else { return nil }
            together += speed
            // Leaves out a connection that is done within 30 s.
            guard Double(segment.remaining) > speed * Self.longestSilence.seconds * 10 else { continue }
            if speed < slowest?.speed ?? .infinity { slowest = (id, speed) }
        }
        return together < best * Self.drip ? slowest?.id : nil
    }

    /// Share of the best speed of a connection below which all connections together are too slow.
    private static let drip = 0.01
    static let mostReplacements = 16
    /// Longest time without bytes before a connection is closed. Shorter than the timeout of a single connection,
    /// because other connections bring bytes meanwhile.
    static let longestSilence = Duration.seconds(3)
}
