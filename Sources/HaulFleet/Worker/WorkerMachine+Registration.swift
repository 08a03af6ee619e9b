extension WorkerMachine {
    mutating func sendRegistration() {
        guard case .registering(let predecessor) = phase, !calls[.register].isInFlight else { return }
        guard stop.kind != .now else {
            // If the answer of a registration was lost, the new worker in the queue holds only its predecessor's
            // leases. The next start with this folder takes them over, or they expire.
            return end(calls[.register].lastError)
        }
        guard now >= calls[.register].notBefore else { return }
        send(.register(predecessor: predecessor))
    }

    mutating func registered(_ registration: Registration, sentAt: Duration) {
        guard case .registering = phase, calls[.register].isInFlight else { return }
        calls.succeeded(.register, at: now)
        enter(.working)
        lease.begin(registration.leaseTime, sentAt: sentAt, now: now)
        claims.restart()
        for kind in [WorkerCall.Kind.claim, .gate, .report] { calls.restart(kind) }
        let beatDelay = lease.nextBeatDelay(&delays)
        calls.restart(.beat, notBefore: sentAt + beatDelay)
        let maintenanceDelay = delays.random(in: .zero...(lease.leaseTime / 3))
        calls.restart(.maintain, notBefore: now + maintenanceDelay)
        accept(registration.leases)
    }

    mutating func registrationFailed(_ error: FleetError) {
        guard !error.isRefusal else { return end(error) }
        calls.backOff(.register, at: now, &delays)
    }

    /// Drops all items, because the queue counts the worker as dead and gives them to others.
    mutating func forgetWorker() {
        guard phase == .working || phase == .leaving else { return }
        guard phase == .working else { return end(nil) }
        releaseAll()
        hostBlocks.removeAll()
        lease.putInDoubt()
        enter(.forgetting)
    }

    /// Registers again after all pending answers, because these must not count as answers to the next worker.
    mutating func registerAgain() {
        guard !calls.isAnyInFlight else { return }
        guard !stop.isRequested else { return end(nil) }
        // Waits for a random time, because after a failover all workers of the fleet register again at once.
        let delay = delays.random(in: .zero...(.seconds(1)))
        calls.restart(.register, notBefore: now + delay)
        enter(.registering(nil))
    }
}
