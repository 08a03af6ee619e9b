/// Updates a transfer from the bytes on disk, and drops connections.
extension Transfer {
    package var outcome: Outcome {
        guard let plan else { return active.isEmpty ? .noConnections : .goesOn }
        if plan.isComplete, active.isEmpty {
            guard let pieces, !pieces.isDone else { return .complete }
            return pieces.isChecking ? .goesOn : .noConnections
        }
        return active.isEmpty ? .noConnections : .goesOn
    }

    /// Updates positions, speeds, complete pieces and finished connections from the bytes on disk.
    mutating func absorb(_ persisted: PersistedRanges, _ sources: inout SourceSelector, at now: Instant) -> [Action] {
        guard var plan else {
            for id in active.keys { active[id]?.record(persisted.prefix, advanced: true, at: now) }
            return []
        }
        for (id, segment) in plan.segments {
            let position = persisted.written.firstMissing(in: segment.remainingRange)
            let hasAdvanced = position > segment.position
            // Bytes that land before the answer come from another connection, which received them before its segment
            // was shortened.
            if hasAdvanced, let connection = active[id], connection.isFlowing {
                pieces?.note(segment.position..<position, from: connection.source)
                stumbles.noteProgress()
            }
            if hasAdvanced, id == overlap.connection { noteCompared() }
            active[id]?.record(position, advanced: hasAdvanced, at: now)
            _ = plan.advance(id, to: position)
            if let connection = active[id], connection.isFlowing {
                if let speed = connection.measuredSpeed(at: now) { sources.note(speed, of: connection.source) }
            }
        }
        plan.absorb(persisted.written)
        readers.removeServed(persisted.written)
        for id in active.keys where plan.segments[id] == nil && active[id]?.doneSince == nil {
            active[id]?.doneSince = now
        }
        self.plan = plan
        return (pieces?.complete(persisted.written) ?? []).map { .checkPiece($0) }
    }

    /// Closes the connections that owe nothing any more and would not end by themselves.
    mutating func closeDone(at now: Instant) -> [Action] {
        guard let plan else { return [] }
        var actions: [Action] = []
        for id in openIDs {
            guard let connection = active[id] else { continue }
            // Keeps the first connection until its repeated bytes have been compared. Only the comparison shows that
            // the bytes on disk are those of the server, even if all have arrived.
            guard plan.segments[id] == nil || plan.isComplete, id != overlap.connection else { continue }
            let isLate = connection.doneSince.map { now - $0 > Self.graceToEnd } ?? false
            if connection.isShortened || !connection.isFlowing || isLate { actions += drop(id) }
        }
        return actions
    }

    /// Time limit for a body to end after its last wanted byte has arrived. If the body ends in time, its connection
    /// can be used again.
    static let graceToEnd = Duration.milliseconds(500)

    package mutating func drop(_ id: ConnectionID) -> [Action] {
        plan?.release(id)
        guard let connection = active.removeValue(forKey: id) else { return [] }
        return [.close(id)] + (connection.isFlowing ? [] : giveBack())
    }

    /// Closes the connections over the old link of the first source that have no answer or have gone quiet. A fresh
    /// link has come, and their bytes are requested over it.
    mutating func dropIdle(at now: Instant) -> [Action] {
        var actions: [Action] = []
        for id in openIDs {
            guard let connection = active[id], connection.source == 0 else { continue }
            // A connection that a speed limit holds back is not quiet.
            if !connection.isFlowing || !isHeldBack && now - connection.lastByte > Self.longestLull {
                actions += drop(id)
            }
        }
        return actions
    }

    private static let longestLull = Duration.seconds(1)

    /// Notes that the first source has another link. Connections that bring bytes over the old link continue.
    mutating func linkReplaced(isForeign: Bool, at now: Instant) {
        home.noteLink(isForeign: isForeign)
        // Earlier requests may have failed because the old link had expired.
        stumbles.noteProgress()
        stumbles.endPause(at: now)
    }

    /// Returns whether a source has to show that it has the same file as the one on disk.
    func isForeign(_ source: Int, _ sources: SourceSelector) -> Bool {
        sources.isMirror(source) || home.isForeign && source == 0
    }

    /// Extends shortened connections again, as far as their answers reach and the bytes are unassigned. Called when a
    /// connection is closed before its answer: the bytes that it had taken over are unassigned then, and another
    /// connection may be receiving them already. A server that serves only one connection is thus not asked for them
    /// twice.
    package mutating func giveBack() -> [Action] {
        guard var plan else { return [] }
        var actions: [Action] = []
        for id in openIDs {
            guard let connection = active[id], connection.isShortened, let end = plan.extend(id, to: connection.reach)
            else { continue }
            active[id]?.isShortened = end < connection.reach
            active[id]?.doneSince = nil
            actions.append(.shorten(id, to: end))
        }
        self.plan = plan
        return actions
    }

    /// Whether the file is so short that no part of it is worth a connection of its own.
    var isTooShortToShare: Bool {
        guard let plan, pieces == nil else { return false }
        return plan.total <= terms.limits.smallestPiece
    }

    /// Ends the plan if the only connection has ended and every byte is on disk.
    ///
    /// - Returns: `false` otherwise. Nothing changes then.
    package mutating func isDone(with id: ConnectionID, _ persisted: PersistedRanges) -> Bool {
        guard active.count == 1, active[id] != nil, pieces == nil, !overlap.isPending, let plan,
            persisted.written.containsAll(of: 0..<plan.total)
        else { return false }
        active = [:]
        self.plan = nil
        stumbles.noteProgress()
        return true
    }

    package mutating func forget(_ range: Range<Int64>) -> [Action] {
        plan?.forget(range)
        return [.forget(range)]
    }

    mutating func keepToOne() {
        isSolitary = true
        controller = ConnectionController(ceiling: 1)
    }

    package mutating func refused(_ retryAfter: Duration?, at now: Instant) -> [Action] {
        let before = controller.learnedLimit
        controller.refused(flowing: active.values.count { $0.isFlowing }, retryAfter: retryAfter, at: now)
        guard let limit = controller.learnedLimit, limit != before else { return [] }
        return [.learnLimit(limit)]
    }
}
