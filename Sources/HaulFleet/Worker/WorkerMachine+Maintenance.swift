internal import HaulKit

extension WorkerMachine {
    /// Sends the maintenance call. Random intervals between a sixth and a third of the lease time keep workers apart.
    mutating func sendMaintenance() {
        guard phase == .working, stop == nil, !maintain.isInFlight, now >= maintain.notBefore else { return }
        maintain.begin(at: now)
        maintenance.hasBegun = true
        actions.append(.call(.maintain))
    }

    mutating func maintained(_ result: Maintenance) {
        guard maintain.isInFlight else { return }
        maintain.succeed()
        answeredAt = now
        maintain.notBefore = now + jittered((lease.leaseTime / 6)...(lease.leaseTime / 3))
        guard phase == .working else { return }
        let isIdle = result.returnedItems <= 0 && result.promotedItems <= 0 && result.fedItems <= 0
        maintenance.idleInRow = isIdle ? min(maintenance.idleInRow + 1, 16) : 0
        guard !isIdle else { return }
        // Items are available now, and perhaps more can be made ready.
        claims.emptyInRow = 0
        if claim.failures == 0 { claim.notBefore = min(claim.notBefore, now) }
    }

    mutating func maintenanceFailed(_ error: FleetError) {
        maintain.fail(error)
        maintain.notBefore = now + callDelay(maintain.failures)
    }

    /// Advances the maintenance after a claim that returned nothing, because the items may only wait for the feeder.
    /// The first time it is due at once, later after a pause. The pause doubles while there is nothing to feed.
    mutating func hurryMaintenance() {
        guard maintain.failures == 0 else { return }
        guard maintenance.hasBegun else { return maintain.notBefore = now }
        let backoff = Backoff(base: .milliseconds(500), cap: .seconds(512), jitter: .part(2))
        let soon = maintain.lastSent + backoff.delay(failures: maintenance.idleInRow + 1, fraction: fraction())
        maintain.notBefore = min(maintain.notBefore, max(now, soon))
    }

    /// Passes on blocks of hosts. Ignores changes of up to 1 s, which may come from the delay of an answer.
    mutating func blockHosts(_ durations: [Int32: Duration]) {
        blockedHosts = blockedHosts.filter { $0.value > now }
        for (host, duration) in durations.sorted(by: { $0.key < $1.key }) where duration > .zero {
            let until = now + duration.clamped(.zero, .seconds(86_400))
            if let known = blockedHosts[host], until <= known + .seconds(1) { continue }
            blockedHosts[host] = until
            actions.append(.blockHost(host, until - now))
        }
    }
}
