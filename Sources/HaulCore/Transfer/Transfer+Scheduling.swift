/// Opens additional connections: chooses the source, the range and the request of each.
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
        // If no connection is left, only the machine can open one: a first connection.
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
            // A hedge needs speeds sooner, because the file is nearly complete. The new connection counts with the best
            // speed of its source, because only slow connections are left to compare with.
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
            // Does not hedge while a speed limit slows the download, because a second connection would be no faster.
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
        var question = RangeRequest.further(
            range,
            of: terms.resource,
            isPlain: doubts > 0,
            comparesSeam: comparesSeams && !isForeign
        )
        question.source = source
        question.link = sources.link.number
        question.terms.hasDigest = terms.isProvable
        if isForeign {
            // Uses the source's own tag for the version, if it has sent one.
            question.condition = sources.sources[source].validator?.strongTag.map { .ifMatch($0.text) } ?? .none
        }
        return question
    }
}
