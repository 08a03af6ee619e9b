internal import HaulKit

extension WorkerMachine {
    private var room: Int { holdLimit - items.count }

    /// Time of the next claim; `nil` if the worker waits for another event.
    var nextClaim: Duration? {
        guard phase == .working, stop == nil, !lease.isInDoubt, !claim.isInFlight, room > 0 else { return nil }
        let earliest = max(claim.notBefore, destination.pausedUntil ?? .zero, destination.probeNotBefore)
        if room >= max(1, holdLimit / 4) { return earliest }
        // Smaller claims would cost a transaction per item. After a full claim they are allowed once a second, so that
        // a few large files do not keep the rest waiting.
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
        // The answer is for a dead worker, whose items the queue gives to others.
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
        let backoff = Backoff(base: .milliseconds(200), cap: settings.idleClaimLimit)
        let idle = answer.isPaused ? settings.idleClaimLimit : backoff.bound(failures: claims.emptyInRow)
        claim.notBefore = now + sooner(idle, answer.isPaused ? nil : answer.nextDue)
        destination.probeNotBefore = now
        if !answer.isDrained { hurryMaintenance() }
    }

    /// Returns a random delay between half of `delay` and `delay`, or a shorter one until `due`.
    private mutating func sooner(_ delay: Duration, _ due: Duration?) -> Duration {
        let delay = jittered((delay / 2)...delay)
        // An item that is due but was not given out is locked or blocked, so asking at once gains nothing.
        guard let due, due > .zero else { return delay }
        return min(delay, max(due, delay / 8))
    }

    mutating func claimFailed(_ error: FleetError) {
        claim.fail(error)
        // If the claim took effect, the next claim returns its items.
        claims.wasFull = true
        claims.hasEndedItem = true
        guard phase == .working else { return }
        if isRefusal(error), claim.failures >= Self.refusalLimit { return fail(error) }
        claim.notBefore = now + callDelay(claim.failures)
    }

    /// Begins items that the queue has leased to the worker.
    mutating func accept(_ leases: [Lease]) {
        for lease in leases where items[lease.key] == nil {
            items[lease.key] = HeldItem(lease: lease, stage: .waiting)
            // A database that lost its last commits may give out an epoch twice. While the destination still works on
            // the first lease, no other item may begin under the same key. The next lease has another epoch.
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
