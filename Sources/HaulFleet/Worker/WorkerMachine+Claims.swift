internal import HaulKit

extension WorkerMachine {
    private var room: Int { mayPackMore ? holdLimit - items.activeCount : 0 }

    /// Time of the next claim; `nil` if the worker waits for another event.
    var nextClaim: Duration? {
        let pace = calls[.claim]
        guard phase == .working, !stop.isRequested, !lease.isInDoubt, !pace.isInFlight, room > 0 else { return nil }
        let earliest = max(pace.notBefore, destination.claimNotBefore)
        if room >= max(1, holdLimit / 4) { return earliest }
        // Avoids claims of less than a quarter of the hold limit, because they would cost a transaction per item. After
        // a full claim, allows them once a second, so that a few large files do not keep the other items waiting.
        return claims.wasFull && claims.hasEndedItem ? max(earliest, pace.lastSent + .seconds(1)) : nil
    }

    mutating func sendClaim() {
        guard let time = nextClaim, now >= time else { return }
        let limit = destination.beginProbe(at: now) ? 1 : max(1, min(settings.claimBatch, room))
        claims.claimBegan()
        send(.claim(limit: limit))
    }

    mutating func claimed(_ answer: Claim, sentAt: Duration) {
        guard case .claim(let limit) = calls[.claim].inFlight, sentAt >= calls[.claim].lastSent else { return }
        calls.succeeded(.claim, at: now)
        // Ignores the items in another phase: the queue no longer counts this worker as live and gives the items to
        // other workers.
        guard phase == .working else { return }
        claims.claimAnswered(isFull: answer.leases.count >= limit, isPaused: answer.isPaused)
        accept(answer.leases)
        guard answer.leases.isEmpty else {
            claims.foundItems()
            // Hosts whose items come later in the lists, or were passed over, may have none ready.
            if !claims.wasFull { hurryMaintenance() }
            let delay = claims.wasFull ? .zero : delayUntilDue(.milliseconds(200), answer.nextDue)
            return calls.wait(.claim, until: now + delay)
        }
        claims.queueExhausted(answer.isExhausted)
        if answer.isDrained, settings.endsWhenDrained, items.isEmpty { stop.requestDrain() }
        claims.foundNothing()
        let backoff = Backoff(base: .milliseconds(200), cap: settings.idleClaimLimit)
        let idle = answer.isPaused ? settings.idleClaimLimit : backoff.bound(failures: claims.emptyInRow)
        let delay = delayUntilDue(idle, answer.isPaused ? nil : answer.nextDue)
        calls.wait(.claim, until: now + delay)
        destination.probeFoundNoItem(at: now)
        if !answer.isDrained { hurryMaintenance() }
    }

    /// Returns a random delay between half of `delay` and `delay`, or a shorter one until `due`.
    private mutating func delayUntilDue(_ delay: Duration, _ due: Duration?) -> Duration {
        let delay = delays.random(in: (delay / 2)...delay)
        // An item that is due but was not given out is locked or blocked, so asking at once gains nothing.
        guard let due, due > .zero else { return delay }
        return min(delay, max(due, delay / 8))
    }

    mutating func claimFailed(_ error: FleetError) {
        claims.claimFailed()
        guard phase == .working else { return }
        if calls.isRefusedForGood(.claim) { return end(error) }
        calls.backOff(.claim, at: now, &delays)
    }

    /// Begins items that the queue has leased to the worker.
    mutating func accept(_ leases: [LeasedItem]) {
        for lease in leases where items[lease.key] == nil {
            items.add(lease)
            // A database that lost its last commits may give out one lease key twice. While the destination still
            // works for the first lease, the second lease must not begin. The next lease of the item has another epoch.
            if stop.kind == .now || items.isInDestination(lease.key) {
                giveBack(lease.key)
            } else if !self.lease.isInDoubt {
                beginDownload(lease.key)
            }
        }
    }
}

/// Decides how many items a worker holds: as many as it ends in two seconds. Small files then do not wait for the
/// queue, and a worker with large files leaves items to idle workers.
extension WorkerMachine {
    var holdLimit: Int {
        guard let least = settings.leastHeld else { return settings.capacity }
        // Up to `least` running downloads may end in one second by chance, so only further ends count.
        return min(settings.capacity, least + 2 * max(0, claims.endsPerSecond - least))
    }

    /// Returns the time of the next gate or report; `nil` if nothing waits or a call is under way. A small batch waits
    /// up to ``Settings/batchInterval`` for more files, so that not every file needs a transaction of its own.
    func nextBatch(_ pace: CallPace, waiting: Int) -> Duration? {
        guard waiting > 0, !pace.isInFlight else { return nil }
        let isFull = waiting >= min(settings.publishBatch, max(1, holdLimit / 4))
        return isFull ? pace.notBefore : max(pace.notBefore, pace.lastSent + settings.batchInterval)
    }
}
