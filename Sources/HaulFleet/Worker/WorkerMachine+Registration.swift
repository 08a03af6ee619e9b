extension WorkerMachine {
    mutating func sendRegistration() {
        guard case .registering(let predecessor) = phase, !register.isInFlight else { return }
        guard stop != .now else {
            // If the answer of a registration was lost, the new worker in the queue holds only its predecessor's
            // leases. The next start with this folder takes them over, or they expire.
            fail(register.lastError)
            return
        }
        guard now >= register.notBefore else { return }
        register.begin(at: now)
        actions.append(.call(.register(predecessor: predecessor)))
    }

    mutating func registered(_ registration: Registration, sentAt: Duration) {
        guard case .registering = phase, register.isInFlight else { return }
        register.succeed()
        answeredAt = now
        phase = .working
        lease = LeaseClock(leaseTime: Self.bounded(registration.leaseTime), confirmedAt: sentAt)
        lease.isInDoubt = now >= lease.deadline
        claim = CallPace()
        gate = CallPace()
        report = CallPace()
        claims = ClaimState()
        beat = CallPace(notBefore: sentAt + nextBeatDelay())
        maintain = CallPace(notBefore: now + jittered(.zero...(lease.leaseTime / 3)))
        accept(registration.leases)
    }

    mutating func registrationFailed(_ error: FleetError) {
        register.fail(error)
        guard !isRefusal(error) else { return fail(error) }
        register.notBefore = now + callDelay(register.failures)
    }

    /// Drops all items, because the queue counts the worker as dead and gives them to others.
    mutating func forgetWorker() {
        guard phase == .working || phase == .leaving else { return }
        guard phase == .working else { return fail(nil) }
        (prepareQueue, gateQueue, reportQueue) = ([], [], [])
        for key in items.keys.sorted() { release(key) }
        blockedHosts = [:]
        lease.isInDoubt = true
        phase = .forgetting
    }

    /// Registers again after all pending answers, because these must not count as answers to the next worker.
    mutating func registerAgain() {
        guard !claim.isInFlight, !beat.isInFlight, !gate.isInFlight, !report.isInFlight, !maintain.isInFlight else {
            return
        }
        guard stop == nil else { return fail(nil) }
        // After a failover, all workers of the fleet register again at the same time.
        register = CallPace(notBefore: now + jittered(.zero...(.seconds(1))))
        phase = .registering(nil)
    }

    static func bounded(_ leaseTime: Duration) -> Duration { leaseTime.clamped(.seconds(1), .seconds(86_400)) }
}
