/// Where the transfer stands: taking over what is on the disk, letting go of connections.
extension Transfer {
    var outcome: Outcome {
        guard let plan else { return lines.isEmpty ? .dry : .goesOn }
        if plan.isComplete, lines.isEmpty {
            guard let pieces, !pieces.isDone else { return .complete }
            return pieces.isChecking ? .goesOn : .dry
        }
        return lines.isEmpty ? .dry : .goesOn
    }

    /// Takes over what is on disk: positions, speeds, pieces that became complete, connections that owe nothing any more.
    mutating func absorb(_ mark: Mark, _ sources: inout SourceBook, at now: Instant) -> [Action] {
        guard var plan else {
            for id in lines.keys { lines[id]?.record(mark.prefix, advanced: true, at: now) }
            return []
        }
        for (id, segment) in plan.segments {
            let position = mark.written.firstMissing(in: segment.owed)
            let hasAdvanced = position > segment.position
            // What lands before the answer is what another had still taken in when it was cut short.
            if hasAdvanced, let line = lines[id], line.isFlowing {
                pieces?.note(segment.position..<position, from: line.source)
                stumbles = 0
            }
            if hasAdvanced, id == uncompared { noteCompared() }
            lines[id]?.record(position, advanced: hasAdvanced, at: now)
            _ = plan.advance(id, to: position)
            if let line = lines[id], line.isFlowing {
                if let speed = line.measuredSpeed(at: now) { sources.note(speed, of: line.source) }
            }
        }
        plan.absorb(mark.written)
        for id in lines.keys where plan.segments[id] == nil && lines[id]?.doneSince == nil {
            lines[id]?.doneSince = now
        }
        self.plan = plan
        return (pieces?.complete(mark.written) ?? []).map { .checkPiece($0) }
    }

    /// Closes the connections that owe nothing any more and would not end by themselves.
    mutating func closeDone(at now: Instant) -> [Action] {
        guard let plan else { return [] }
        var actions: [Action] = []
        for id in openIDs {
            guard let line = lines[id] else { continue }
            guard plan.segments[id] == nil || plan.isComplete else { continue }
            let isLate = line.doneSince.map { now - $0 > Self.graceToEnd } ?? false
            if line.isNarrowed || !line.isFlowing || isLate { actions += drop(id) }
        }
        return actions
    }

    /// A body whose last wanted byte is here is about to end, and its connection can then be used again.
    static let graceToEnd = Duration.milliseconds(500)

    mutating func drop(_ id: ConnectionID) -> [Action] {
        plan?.release(id)
        guard let line = lines.removeValue(forKey: id) else { return [] }
        return [.close(id)] + (line.isFlowing ? [] : giveBack())
    }

    /// There is a fresh link to the home source: what its old one owes an answer to, or has gone quiet, is asked for over it.
    mutating func dropIdle(at now: Instant) -> [Action] {
        var actions: [Action] = []
        for id in openIDs {
            guard let line = lines[id], line.source == 0 else { continue }
            // What we hold back ourselves is not quiet.
            if !line.isFlowing || !isHeldBack && now - line.lastByte > Self.longestLull { actions += drop(id) }
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
    func isForeign(_ source: Int, _ sources: SourceBook) -> Bool {
        sources.isMirror(source) || isHomeForeign && source == 0
    }

    /// A connection that never brought a byte is gone: whoever was cut short for it still brings its part, and a server that
    /// serves only one connection is asked nothing twice.
    mutating func giveBack() -> [Action] {
        guard var plan else { return [] }
        var actions: [Action] = []
        for id in openIDs {
            guard let line = lines[id], line.isNarrowed, let end = plan.extend(id, to: line.reach) else { continue }
            lines[id]?.isNarrowed = end < line.reach
            lines[id]?.doneSince = nil
            actions.append(.narrow(id, to: end))
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
    mutating func isDone(with id: ConnectionID, _ mark: Mark) -> Bool {
        guard lines.count == 1, lines[id] != nil, pieces == nil, uncompared == nil, let plan,
            mark.written.containsAll(of: 0..<plan.total)
        else { return false }
        lines = [:]
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
        controller.refused(flowing: lines.values.count { $0.isFlowing }, retryAfter: retryAfter, at: now)
        guard let limit = controller.learnedLimit, limit != before else { return [] }
        return [.learnLimit(limit)]
    }

    mutating func stumble(at now: Instant) {
        stumbles += 1
        let wait = Duration.milliseconds(100 << min(stumbles, 7))
        quietUntil = max(quietUntil, now + wait)
    }
}
