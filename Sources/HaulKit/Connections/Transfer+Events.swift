/// What happens to the connections, and what follows.
extension Transfer {
    /// Bytes have landed, or time has passed.
    mutating func advance(_ persisted: PersistedRanges, _ sources: inout SourceSelector, at now: Instant) -> (
        [Action], Outcome
    ) {
        hostIsFull = false
        var actions = absorb(persisted, &sources, at: now)
        guard let plan else { return (actions, .goesOn) }
        if !plan.isComplete {
            if !isHeldBack {
                let flowing = active.values.count { $0.isFlowing }
                let worthwhile = controller.worthwhile
                controller.tick(
                    received: persisted.count,
                    flowing: flowing,
                    opening: active.count - flowing,
                    missing: plan.total - persisted.count,
                    at: now
                )
                // Fewer are soon found again.
                if controller.worthwhile > max(worthwhile, 2) { actions.append(.learnWorth(controller.worthwhile)) }
            }
            // A speed limit delays bytes, not answers.
            actions += dropIgnored(&sources, at: now)
            if !isHeldBack { actions += replaceLaggards(&sources, at: now) }
            actions += schedule(&sources, at: now)
        }
        actions += closeDone(at: now)
        return (actions, outcome)
    }

    /// A further connection was answered.
    mutating func answered(
        _ id: ConnectionID,
        _ head: ResponseHead,
        retryAfter: Duration?,
        _ sources: inout SourceSelector,
        at now: Instant
    ) -> ([Action], Outcome) {
        guard let connection = active[id], let question = connection.question else { return ([], .goesOn) }
        // Others have brought meanwhile what it was to bring.
        guard let segment = plan?.segments[id] else { return (drop(id), outcome) }
        let isMirror = sources.isMirror(connection.source)
        let isForeignHome = !isMirror && isForeign(connection.source, sources)
        let answer = SegmentResponse.judge(head, to: question, isMirror: isMirror || isForeignHome)
        if case .accept(let validator) = answer {
            active[id]?.answer(from: question.offset, at: now)
            noteAnswer(after: now - connection.opened)
            if let end = head.contentRange?.end { active[id]?.reach = min(connection.reach, end) }
            if segment.end < question.end ?? segment.end { active[id]?.isShortened = true }
            sources.note(validator, of: connection.source)
            let limit = max(0, segment.end - question.offset)
            return ([.startBody(id, at: question.offset, compare: 0, limit: limit)], .goesOn)
        }
        var actions = drop(id)
        switch answer {
        case .accept: break
        case .changed:
            doubts += 1
            if doubts > 1 { isSolitary = true }
            return (actions, .versionMismatch)
        // Whether the file behind a fresh link is the one that is here is for the ladder to find out, when it is asked next.
        case .noUsableRange where isForeignHome, .otherFile where isForeignHome: isHomeBarred = true
        case .noUsableRange:
            if isMirror { sources.drop(connection.source) } else { keepToOne() }
        case .otherFile: sources.drop(connection.source)
        case .refused(let status):
            if isMirror && !RetryClassifier.isWorthRetrying(status: status, isRedirected: false) {
                sources.drop(connection.source)
            } else if isMirror {
                sources.noteFailure(of: connection.source)
            } else if RetryClassifier.isWorthRetrying(status: status, isRedirected: false) {
                actions += refused(retryAfter, at: now)
            } else {
                // Not too many, but this one not at all: a link that works once, say. That is nothing about the host.
                keepToOne()
            }
        }
        actions += schedule(&sources, at: now)
        return (actions, outcome)
    }

    enum End: Sendable, Equatable {
        case finished
        case failed
        /// The host has no connection slot for it.
        case noConnectionSlot
    }

    /// A connection has ended by itself.
    mutating func ended(
        _ id: ConnectionID,
        _ end: End,
        _ persisted: PersistedRanges,
        _ sources: inout SourceSelector,
        at now: Instant
    ) -> (
        [Action], Outcome
    ) {
        let before = plan?.segments[id]?.position
        var actions = absorb(persisted, &sources, at: now)
        guard let connection = active[id] else { return (actions, .goesOn) }
        let hasBrought = connection.firstByte != nil || plan?.segments[id]?.position != before
        let isDone = plan?.segments[id] == nil
        actions += drop(id).filter { $0 != .close(id) }
        switch end {
        case .noConnectionSlot: hostIsFull = true
        case .finished where isDone || hasBrought: stumbles = 0
        case .finished: stumble(at: now)
        case .failed where connection.isFlowing:
            if sources.isMirror(connection.source) { sources.noteFailure(of: connection.source) }
            stumble(at: now)
        case .failed:
            // It never came to an answer: the host may allow no more.
            if sources.isMirror(connection.source) {
                sources.noteFailure(of: connection.source)
            } else {
                actions += refused(nil, at: now)
            }
        }
        actions += schedule(&sources, at: now)
        actions += closeDone(at: now)
        return (actions, outcome)
    }

    /// Another download needs a connection to this host: gives up the one that is missed least, unless it is the last.
    mutating func yield(from hosts: Set<Origin>, at now: Instant) -> [Action] {
        guard active.count > 1 else { return [] }
        let slowest = active.filter { hosts.contains($0.value.origin) }
            .min {
                ($0.value.bytesPerSecond(at: now), $1.key.number) < ($1.value.bytesPerSecond(at: now), $0.key.number)
            }
        guard let slowest else { return [] }
        hostIsFull = true
        return drop(slowest.key)
    }

    /// A piece has been compared with its digest.
    mutating func checked(_ index: Int, isRight: Bool, _ sources: inout SourceSelector, at now: Instant) -> (
        [Action], Outcome
    ) {
        guard let decision = pieces?.checked(index, isRight: isRight) else { return ([], .goesOn) }
        if let proven = decision.proven { sources.prove(proven) }
        var actions: [Action] = []
        for range in decision.forgotten { actions += forget(range) }
        if let culprit = decision.culprit, let closing = ban(culprit, &sources) {
            actions += closing
            pieces?.resetAttempts(index)
        } else if decision.times >= Self.mostWrongTimes * max(1, sources.sources.count { !$0.isDropped }) {
            return (actions + closeAll(), .wrongPiece(index))
        }
        if sources.sources[sources.home].isDropped { return (actions + closeAll(), .primaryRejected) }
        actions += schedule(&sources, at: now)
        return (actions, outcome)
    }

    /// For each source: a piece whose parts came from several shows of none that it was wrong.
    static let mostWrongTimes = 3

    /// A source sent wrong bytes: nothing more comes from it. Nil where there is no other.
    mutating func ban(_ culprit: Int, _ sources: inout SourceSelector) -> [Action]? {
        guard sources.sources.indices.contains(where: { $0 != culprit && !sources.sources[$0].isDropped }) else {
            return nil
        }
        sources.drop(culprit)
        var actions: [Action] = []
        for id in openIDs where active[id]?.source == culprit { actions += drop(id) }
        // One that sent right pieces before may have sent right parts, which the check of their pieces will show.
        if sources.sources[culprit].isProven { return actions }
        for range in pieces?.discardBytes(culprit) ?? [] { actions += forget(range) }
        return actions
    }
}
