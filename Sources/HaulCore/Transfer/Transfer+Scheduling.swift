/// Decides which connections there should be: opens more, and replaces those that bring too little.
extension Transfer {
    /// Opens as many additional connections as are wanted and of use.
    package mutating func schedule(_ sources: inout SourceSelector, at now: Instant) -> [Action] {
        slots.setWanted(false)
        guard canShare || !sources.isAlone, let plan, !plan.isComplete, !slots.hasGivenUp, !overlap.isPending,
            !stumbles.areQuiet(at: now)
        else {
            return []
        }
        var actions: [Action] = []
        while controller.mayOpen(count: active.count, at: now), let opened = openOne(&sources, at: now) {
            actions += opened
        }
        return askingForLess(actions)
    }

    /// Merges each `.shorten` with the `.open` of the same connection, so that the request names the shorter end. The
    /// answer then ends there, and the connection can be used again.
    private mutating func askingForLess(_ actions: [Action]) -> [Action] {
        var asked: [Action] = []
        var places: [ConnectionID: Int] = [:]
        for action in actions {
            switch action {
            case .open(let id, _): places[id] = asked.count
            case .shorten(let id, let end):
                guard let place = places[id], case .open(_, var question) = asked[place] else { break }
                question.end = end
                asked[place] = .open(id, question)
                active[id]?.askForLess(end)
                continue
            default: break
            }
            asked.append(action)
        }
        return asked
    }

    /// Opens one additional connection; `nil` if none is of use.
    ///
    /// - Parameter onlyForReaders: whether to open a connection only where a reader waits.
    mutating func openOne(_ sources: inout SourceSelector, onlyForReaders: Bool = false, at now: Instant) -> [Action]? {
        // If no connection is left, the machine opens a first one by the whole validator ladder.
        guard plan != nil, !active.isEmpty, let source = nextSource(sources, at: now) else { return nil }
        let isForeign = isForeign(source, sources)
        let isOnTrial = pieces != nil && isForeign && !sources.sources[source].isProven
        let most = isOnTrial ? terms.pieces?.pieceLength : nil
        let id = issueID()
        let bestSpeed = sources.sources[source].bytesPerSecond
        guard let (claim, range) = assign(id, bestSpeed: bestSpeed, most: most, onlyForReaders: onlyForReaders, at: now)
        else {
            issued -= 1
            return nil
        }
        slots.take(at: sources.sources[source].origin)
        let actions = noteShortened(by: claim, of: id)
        let question = question(for: range, from: source, isForeign: isForeign, sources)
        var connection = ActiveConnection(
            source: source,
            sources.sources[source].origin,
            question: question,
            reach: range.upperBound,
            at: now
        )
        connection.isShortened = claim.isHedge
        active[id] = connection
        return actions + [.open(id, question)]
    }

    /// Returns the source of the next connection. Notes if only a connection slot is missing.
    private mutating func nextSource(_ sources: SourceSelector, at now: Instant) -> Int? {
        let open = active.values.reduce(into: [:]) { $0[$1.source, default: 0] += 1 }
        var isCrowded = false
        let next = sources.next(
            open: open,
            needsProof: pieces != nil,
            mayAskMirrors: terms.isProvable,
            mayShareHome: canShare && !(home.isBarred && sources.home == 0),
            mayAskFirst: sources.link.need(at: now) == nil
        ) { host in
            let hasSlot = slots.hasFree(at: host)
            if !hasSlot { isCrowded = true }
            return hasSlot
        }
        if next == nil { slots.setWanted(isCrowded) }
        return next
    }

    /// Assigns a range to a new connection; `nil` if no range is worth a connection.
    ///
    /// - Parameters:
    ///   - bestSpeed: the best speed of the connection's source; `nil` if it is not known.
    ///   - most: largest length of the range; `nil` without a limit.
    private mutating func assign(
        _ id: ConnectionID,
        bestSpeed: Double?,
        most: Int64?,
        onlyForReaders: Bool,
        at now: Instant
    ) -> (claim: SegmentPlan.Claim, range: Range<Int64>)? {
        guard var plan else { return nil }
        let speeds = active.compactMapValues { $0.measuredSpeed(at: now) }
        let claim: SegmentPlan.Claim?
        if onlyForReaders {
            claim = plan.claim(for: id, readers: readers.positions, speeds: speeds, most: most)
        } else {
            // At the end of a file there is no time for a long measurement, and only slow connections are left to
            // compare with. The best speed of this source is known.
            var hoped = active.compactMapValues {
                $0.measuredSpeed(at: now, after: max(.milliseconds(25), answers.estimate))
            }
            hoped[id] = bestSpeed
            let next = plan.claim(
                for: id,
                speeds: speeds,
                most: most,
                requestTime: answers.estimate,
                readers: wantedPositions
            )
            // If a speed limit slows the download, a second connection would be no faster.
            claim = next ?? (isHeldBack ? nil : plan.hedge(for: id, speeds: hoped, requestTime: answers.estimate))
        }
        guard let claim else { return nil }
        var range = claim.range
        if let most, range.upperBound - range.lowerBound > most {
            plan.trim(id, to: most)
            range = range.lowerBound..<range.lowerBound + most
        }
        self.plan = plan
        return (claim, range)
    }

    /// Marks the connections that owe less than their requests asked for, now that `id` has claimed a range. Shortens
    /// the connection whose range the claim narrows.
    private mutating func noteShortened(by claim: SegmentPlan.Claim, of id: ConnectionID) -> [Action] {
        if claim.isHedge, let segments = plan?.segments {
            // The first connection to bring the last of these bytes makes the other one needless.
            for (other, segment) in segments
            where other != id && segment.end > claim.range.lowerBound && segment.position < claim.range.upperBound {
                active[other]?.isShortened = true
            }
        }
        guard let narrowed = claim.narrowed else { return [] }
        active[narrowed.id]?.isShortened = true
        return [.shorten(narrowed.id, to: narrowed.newEnd)]
    }

    private func question(
        for range: Range<Int64>,
        from source: Int,
        isForeign: Bool,
        _ sources: SourceSelector
    ) -> RangeRequest {
        var question = RangeRequest.further(range, of: terms.resource, isPlain: doubts > 0)
        question.source = source
        question.link = sources.link.number
        question.terms.hasDigest = terms.isProvable
        if isForeign {
            // Uses the source's own tag for the version, if it has sent one.
            question.condition = sources.sources[source].validator?.strongTag.map { .ifMatch($0.text) } ?? .none
        }
        return question
    }

    /// Closes connections that are silent, or far slower than the others with much left to bring. A new connection is
    /// likely to do better. The bytes that they owe become unassigned.
    mutating func replaceLaggards(_ sources: inout SourceSelector, at now: Instant) -> [Action] {
        // The only connection is to a mirror that brings nothing. The primary source is asked again.
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
                let share = connection.leastShare(at: now), speed < share * usual(connection)
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
    /// sooner. The bytes that they owe become unassigned. If no connection is left, the validator ladder begins again.
    /// The very first connection cannot be compared with others, so only the timeout of the transport applies to it.
    mutating func dropIgnored(_ sources: inout SourceSelector, at now: Instant) -> [Action] {
        guard answers.slowest > .zero else { return [] }
        var actions: [Action] = []
        for id in openIDs {
            guard let connection = active[id], !connection.isFlowing else { continue }
            let waited = now - connection.opened
            // The connection that was cut short for this one can still bring its part, but not for long.
            let isUrgent = waited > max(Self.shortestQuestion, answers.slowest * 4) && isAboutToBeReached(id, at: now)
            guard isUrgent || waited > max(Self.longestQuestion, answers.slowest * 8) else { continue }
            if sources.isMirror(connection.source) { sources.noteFailure(of: connection.source) }
            actions += drop(id)
            if !sources.isMirror(connection.source) { actions += refused(nil, at: now) }
        }
        return actions
    }

    /// Returns whether a connection with a longer answer than it owes will reach the segment of `id` within a second.
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

    /// Returns the slowest connection if all connections together bring less than 1 % of the best speed of a single
    /// one. No fast connection is then open for a comparison. `nil` if a new connection may be worse or cannot be had.
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
    /// Shorter than the time that a single connection has to recover, because other connections bring bytes meanwhile.
    static let longestSilence = Duration.seconds(3)
}
