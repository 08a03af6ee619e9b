internal import HaulKit

extension WorkerMachine {
    /// Sends the maintenance call when it is due. Random intervals, from a sixth to a third of the lease time, spread
    /// the calls of the workers.
    mutating func sendMaintenance() {
        let pace = calls[.maintain]
        guard phase == .working, !stop.isRequested, !pace.isInFlight, now >= pace.notBefore else { return }
        maintenance.began()
        send(.maintain)
    }

    mutating func maintained(_ result: Maintenance) {
        guard calls[.maintain].isInFlight else { return }
        calls.succeeded(.maintain, at: now)
        let delay = delays.random(in: (lease.leaseTime / 6)...(lease.leaseTime / 3))
        calls.wait(.maintain, until: now + delay)
        guard phase == .working else { return }
        let isIdle = result.returnedItems <= 0 && result.promotedItems <= 0 && result.fedItems <= 0
        maintenance.ended(isIdle: isIdle)
        guard !isIdle else { return }
        // Claims at once, because items are available now.
        claims.foundItems()
        if calls[.claim].failures == 0 { calls.advance(.claim, to: now) }
    }

    mutating func maintenanceFailed() { calls.backOff(.maintain, at: now, &delays) }

    /// Advances the maintenance after a claim that returned nothing, because maintenance may make items ready. The
    /// first maintenance is due at once, each later one after a pause. The pause doubles while there is nothing to do.
    mutating func hurryMaintenance() {
        guard calls[.maintain].failures == 0 else { return }
        guard maintenance.hasBegun else { return calls.wait(.maintain, until: now) }
        let pause = maintenance.pause(&delays)
        calls.advance(.maintain, to: max(now, calls[.maintain].lastSent + pause))
    }
}

/// Results of a worker's last maintenance calls.
struct MaintenanceHistory: Sendable, Equatable {
    private(set) var hasBegun = false
    /// Number of maintenance calls in a row that had nothing to do.
    private var idleInRow = 0

    private static let pauseBackoff = Backoff(base: .milliseconds(500), cap: .seconds(512), jitter: .part(2))

    /// Returns the pause between two maintenance calls if an empty claim brings the second one forward. The pause
    /// doubles while there is nothing to do.
    func pause(_ delays: inout RandomDelays) -> Duration { delays.next(Self.pauseBackoff, failures: idleInRow + 1) }

    mutating func began() { hasBegun = true }
    mutating func ended(isIdle: Bool) { idleInRow = isIdle ? min(idleInRow + 1, 16) : 0 }
}
