extension WorkerMachine {
    private var room: Int { holdLimit - items.count }

    /// When the next claim is due; nil: not before something else happens.
    var nextClaim: Duration? {
        guard phase == .working, stop == nil, !lease.isInDoubt, !claim.isInFlight, room > 0 else { return nil }
        let earliest = max(claim.notBefore, destination.pausedUntil ?? .zero, destination.probeNotBefore)
        if room >= max(1, holdLimit / 4) { return earliest }
        // Fewer at a time would be a transaction for each item; but a few large files must not keep the rest waiting.
        return claims.wasFull && claims.hasEndedItem ? max(earliest, claim.lastSent + .seconds(1)) : nil
    }

    mutating func sendClaim() {
        guard let time = nextClaim, now >= time else { return }
        claims.limit = max(1, min(settings.claimBatch, room))
        if destination.pausedUntil != nil {
            claims.limit = 1
            destination.probeNotBefore = now + pauseBound
        }
        claims.hasEndedItem = false
        claim.begin(at: now)
        actions.append(.call(.claim(limit: claims.limit)))
    }

    mutating func claimed(_ answer: Claim, sentAt: Duration) {
        guard claim.isInFlight, sentAt >= claim.lastSent else { return }
        claim.succeed()
        answeredAt = now
        // Of a worker that is dead: its items are given to others.
        guard phase == .working else { return }
        claims.isPaused = answer.isPaused
        claims.wasFull = answer.leases.count >= claims.limit
        accept(answer.leases)
        guard answer.leases.isEmpty else {
            claims.emptyInRow = 0
            claim.notBefore = claims.wasFull ? now : now + sooner(.milliseconds(200), answer.nextDue)
            return
        }
        if answer.isDrained, settings.endsWhenDrained, items.isEmpty, stop == nil { stop = .drain }
        claims.emptyInRow = min(claims.emptyInRow + 1, 16)
        let idle =
            answer.isPaused ? settings.idleClaimLimit : .milliseconds(200) * (1 << min(claims.emptyInRow - 1, 10))
        claim.notBefore = now + sooner(min(idle, settings.idleClaimLimit), answer.isPaused ? nil : answer.nextDue)
        destination.probeNotBefore = now
        if !answer.isDrained { hurryMaintenance() }
    }

    /// Between half of `delay` and all of it, or when something is due, if that is sooner.
    private mutating func sooner(_ delay: Duration, _ due: Duration?) -> Duration {
        let delay = jittered((delay / 2)...delay)
        // What is due now and was not given is locked or blocked: there is nothing to be had by asking at once.
        guard let due, due > .zero else { return delay }
        return min(delay, max(due, delay / 8))
    }

    mutating func claimFailed(_ error: FleetError) {
        claim.fail(error)
        // Its items, if it took effect, come with the next claim.
        claims.wasFull = true
        claims.hasEndedItem = true
        guard phase == .working else { return }
        if isRefusal(error), claim.failures >= Self.refusalLimit { return fail(error) }
        claim.notBefore = now + callDelay(claim.failures)
    }

    /// Begins items that the queue has given to the worker.
    mutating func accept(_ leases: [Lease]) {
        for lease in leases where items[lease.key] == nil {
            items[lease.key] = HeldItem(lease: lease, stage: .waiting)
            // A database that lost its last commits may give an epoch a second time: while the destination still works for the
            // first, nothing can be begun under that name. The next lease has another epoch.
            if stop == .now || inDestination.contains(lease.key) {
                giveBack(lease.key)
            } else if !self.lease.isInDoubt {
                begin(lease.key)
            }
        }
    }

    mutating func begin(_ key: LeaseKey) {
        guard let lease = items[key]?.lease else { return }
        items[key]?.stage = .downloading
        actions.append(.begin(lease))
    }
}
