extension WorkerMachine {
    /// Every third of the lease time, not at the same time as the other workers.
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
        // There is something to be had, and perhaps more to be made ready.
        claims.emptyInRow = 0
        if claim.failures == 0 { claim.notBefore = min(claim.notBefore, now) }
    }

    mutating func maintenanceFailed(_ error: FleetError) {
        maintain.fail(error)
        maintain.notBefore = now + callDelay(maintain.failures)
    }

    /// A claim that brought nothing may only have to wait for the feeder: at once the first time, then soon, but not with each such
    /// claim, and ever later while there is nothing to feed either.
    mutating func hurryMaintenance() {
        guard maintain.failures == 0 else { return }
        guard maintenance.hasBegun else { return maintain.notBefore = now }
        let pause = Duration.milliseconds(500) * (1 << min(maintenance.idleInRow, 10))
        let soon = maintain.lastSent + jittered((pause / 2)...pause)
        maintain.notBefore = min(maintain.notBefore, max(now, soon))
    }

    /// Passes on which hosts are blocked, where that changed by more than the time that an answer takes.
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
