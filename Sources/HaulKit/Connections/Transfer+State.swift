/// Where the transfer stands: taking over what is on the disk, letting go of connections.
extension Transfer {
    var outcome: Outcome {
        guard let plan else { return active.isEmpty ? .noConnections : .goesOn }
        if plan.isComplete, active.isEmpty {
            guard let pieces, !pieces.isDone else { return .complete }
            return pieces.isChecking ? .goesOn : .noConnections
        }
        return active.isEmpty ? .noConnections : .goesOn
    }

    /// Takes over what is on disk: positions, speeds, pieces that became complete, connections that owe nothing any more.
    mutating func absorb(_ persisted: PersistedRanges, _ sources: inout SourceSelector, at now: Instant) -> [Action] {
        guard var plan else {
            for id in active.keys { active[id]?.record(persisted.prefix, advanced: true, at: now) }
            return []
        }
        for (id, segment) in plan.segments {
            let position = persisted.written.firstMissing(in: segment.remainingRange)
            let hasAdvanced = position > segment.position
            // What lands before the answer is what another had still taken in when it was cut short.
            if hasAdvanced, let connection = active[id], connection.isFlowing {
                pieces?.note(segment.position..<position, from: connection.source)
                stumbles = 0
            }
            if hasAdvanced, id == uncompared { noteCompared() }
            active[id]?.record(position, advanced: hasAdvanced, at: now)
            _ = plan.advance(id, to: position)
            if let connection = active[id], connection.isFlowing {
                if let speed = connection.measuredSpeed(at: now) { sources.note(speed, of: connection.source) }
            }
        }
        plan.absorb(persisted.written)
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
            // What it brings again is compared: nothing else shows that a complete file is the server's.
            guard plan.segments[id] == nil || plan.isComplete, id != uncompared else { continue }
            let isLate = connection.doneSince.map { now - $0 > Self.graceToEnd } ?? false
            if connection.isShortened || !connection.isFlowing || isLate { actions += drop(id) }
        }
        return actions
    }

    /// A body whose last wanted byte is here is about to end, and its connection can then be used again.
    static let graceToEnd = Duration.milliseconds(500)

    mutating func drop(_ id: ConnectionID) -> [Action] {
        plan?.release(id)
        guard let connection = active.removeValue(forKey: id) else { return [] }
        return [.close(id)] + (connection.isFlowing ? [] : giveBack())
    }

    /// There is a fresh link to the home source: what its old one owes an answer to, or has gone quiet, is asked for over it.
    mutating func dropIdle(at now: Instant) -> [Action] {
        var actions: [Action] = []
        for id in openIDs {
            guard let connection = active[id], connection.source == 0 else { continue }
            // What we hold back ourselves is not quiet.
            if !connection.isFlowing || !isHeldBack && now - connection.lastByte > Self.longestLull {
                actions += drop(id)
            }
        }
        return actions
    }

    private static let longestLull = Duration.seconds(1)

    /// The home source is asked by another link from now on; those that bring bytes over the old one go on.
    mutating func linkReplaced(isForeign: Bool, at now: Instant) {
        isHomeForeign = isForeign
        isHomeBarred = false
        // What failed may have failed because the old one had expired.
        stumbles = 0
        quietUntil = now
    }

    /// Whether a source has to show that its file is the one that is here.
    func isForeign(_ source: Int, _ sources: SourceSelector) -> Bool {
        sources.isMirror(source) || isHomeForeign && source == 0
    }

    /// A connection that never brought a byte is gone: the one that was cut short for it still brings its part, and a server that
    /// serves only one connection is asked nothing twice.
    mutating func giveBack() -> [Action] {
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

    /// The only connection has ended and every byte is here: nothing is to be planned any more.
    ///
    /// - Returns: false, and nothing changes, unless that is so.
    mutating func isDone(with id: ConnectionID, _ persisted: PersistedRanges) -> Bool {
        guard active.count == 1, active[id] != nil, pieces == nil, uncompared == nil, let plan,
            persisted.written.containsAll(of: 0..<plan.total)
        else { return false }
        active = [:]
        self.plan = nil
        stumbles = 0
        return true
    }

    mutating func forget(_ range: Range<Int64>) -> [Action] {
        plan?.forget(range)
        return [.forget(range)]
    }

    mutating func keepToOne() {
        isSolitary = true
        controller = ConnectionController(ceiling: 1)
    }

    mutating func refused(_ retryAfter: Duration?, at now: Instant) -> [Action] {
        let before = controller.learnedLimit
        controller.refused(flowing: active.values.count { $0.isFlowing }, retryAfter: retryAfter, at: now)
        guard let limit = controller.learnedLimit, limit != before else { return [] }
        return [.learnLimit(limit)]
    }

    mutating func stumble(at now: Instant) {
        stumbles += 1
        let wait = Duration.milliseconds(100 << min(stumbles, 7))
        quietUntil = max(quietUntil, now + wait)
    }
}
