/// Handles the events of the connections.
extension Transfer {
    /// Handles bytes that have landed, and the passing of time.
    package mutating func advance(_ persisted: PersistedRanges, _ sources: inout SourceSelector, at now: Instant) -> (
        [Action], Outcome
    ) {
        slots.tick()
        var actions = absorb(persisted, &sources, at: now)
        guard let plan else { return (actions, .goesOn) }
        if !plan.isComplete {
            if !isHeldBack {
                let (worthwhile, wasHarmful) = (controller.worthwhile, controller.isHarmful)
                controller.tick(
                    received: persisted.count,
                    flowing: active.values.count { $0.isFlowing },
                    missing: plan.total - persisted.count,
                    early: EarlyConnections.allowed(besides: slots.inUse),
                    localWork: localWork,
                    at: now
                )
                // Smaller numbers are not stored, because they are soon found again.
                if controller.worthwhile > max(worthwhile, 2) { actions.append(.learnWorth(controller.worthwhile)) }
                // Only once: a reader may need a connection beyond the wanted number later.
                if controller.isHarmful, !wasHarmful { actions += closeSurplus() }
            }
            // Runs under a speed limit too, because the limit delays bytes, not answers.
            actions += dropIgnored(&sources, at: now)
            if !isHeldBack { actions += replaceLaggards(&sources, at: now) }
            if !readers.positions.isEmpty, !active.isEmpty {
                actions += serveReaders(&sources, at: now)
                if active.isEmpty { return (actions, .givenUpForReader) }
            }
            actions += schedule(&sources, at: now)
        }
        actions += closeDone(at: now)
        return (actions, outcome)
    }

    /// Closes the connections beyond the wanted number, the youngest first. The others take over what is left of their
    /// ranges.
    private mutating func closeSurplus() -> [Action] {
        openIDs.dropFirst(controller.target).reversed().flatMap { drop($0) }
    }

    /// Handles the answer to an additional connection.
    package mutating func answered(
        _ id: ConnectionID,
        _ head: ResponseHead,
        retryAfter: Duration?,
        _ sources: inout SourceSelector,
        at now: Instant
    ) -> ([Action], Outcome) {
        guard let connection = active[id], let question = connection.question else { return ([], .goesOn) }
        // Drops the connection, because others have brought its bytes meanwhile.
        guard let segment = plan?.segments[id] else { return (drop(id), outcome) }
        let isMirror = sources.isMirror(connection.source)
        let isForeignHome = !isMirror && isForeign(connection.source, sources)
        let answer = SegmentResponse.judge(head, to: question, isMirror: isMirror || isForeignHome)
        if case .accept(let validator) = answer {
            active[id]?.answer(from: question.offset, at: now)
            answers.noteAnswer(after: now - connection.opened)
            if let end = head.contentRange?.end { active[id]?.reach = min(connection.reach, end) }
            if segment.end < question.end ?? segment.end { active[id]?.isShortened = true }
            sources.note(validator, of: connection.source)
            let limit = max(0, segment.end - question.offset)
            let start: Action =
                question.comparesSeam
                ? .startBodyAtSeam(id, at: question.offset, repeated: question.overlap, limit: limit)
                : .startBody(id, at: question.offset, compare: 0, limit: limit)
            return ([start], .goesOn)
        }
        var actions = drop(id)
        switch answer {
        case .accept: break
        case .changed:
            doubts += 1
            if doubts > 1 { isSolitary = true }
            return (actions, .versionMismatch)
        // The next request of the machine finds out whether the fresh link leads to the file on disk.
        case .noUsableRange where isForeignHome, .otherFile where isForeignHome: home.bar()
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
                // The server refuses this request, not the number of requests: for example, the link may work only
                // once. This says nothing about the limit of the host.
                keepToOne()
            }
        }
        actions += schedule(&sources, at: now)
        return (actions, outcome)
    }

    package enum End: Sendable, Equatable {
        case finished
        case failed
        /// No connection was opened: the host has no free slot, or the process has no socket.
        case noConnectionSlot
    }

    /// Handles a connection that has ended by itself.
    package mutating func ended(
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
        case .noConnectionSlot: slots.giveUp()
        case .finished where isDone || hasBrought: stumbles.noteProgress()
        case .finished: stumbles.add(at: now)
        case .failed where connection.isFlowing:
            if sources.isMirror(connection.source) { sources.noteFailure(of: connection.source) }
            stumbles.add(at: now)
        case .failed:
            // The connection got no answer, so the host may allow no more connections.
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

    /// Gives up the slowest connection to one of `hosts`, because another download needs one. Keeps the last
    /// connection.
    package mutating func yield(from hosts: Set<Origin>, at now: Instant) -> [Action] {
        guard active.count > 1 else { return [] }
        let slowest = active.filter { hosts.contains($0.value.origin) }
            .min {
                ($0.value.bytesPerSecond(at: now), $1.key.number) < ($1.value.bytesPerSecond(at: now), $0.key.number)
            }
        guard let slowest else { return [] }
        slots.giveUp()
        return drop(slowest.key)
    }

    /// Handles the comparison of a piece with its digest.
    package mutating func checked(_ index: Int, isRight: Bool, _ sources: inout SourceSelector, at now: Instant) -> (
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

    /// Maximum number of wrong digests of one piece for each source. More than one is allowed, because the wrong bytes
    /// of a piece cannot be attributed to one source if its parts came from several.
    static let mostWrongTimes = 3

    /// Drops a source that sent wrong bytes and closes its connections. Returns `nil` if there is no other source.
    mutating func ban(_ culprit: Int, _ sources: inout SourceSelector) -> [Action]? {
        guard sources.sources.indices.contains(where: { $0 != culprit && !sources.sources[$0].isDropped }) else {
            return nil
        }
        sources.drop(culprit)
        var actions: [Action] = []
        for id in openIDs where active[id]?.source == culprit { actions += drop(id) }
        // Keeps the other bytes of a source that has sent right pieces. The checks of their pieces will show which are
        // wrong.
        if sources.sources[culprit].isProven { return actions }
        for range in pieces?.discardBytes(culprit) ?? [] { actions += forget(range) }
        return actions
    }
}
