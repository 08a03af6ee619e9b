extension WorkerMachine {
    mutating func sendRegistration() {
        guard case .registering(let predecessor) = phase, !register.isInFlight else { return }
        guard stop != .now else {
            // Where the answer of a registration was lost, the worker that it made holds nothing but what was its
            // predecessor's; the next start of this folder takes it over, or it expires.
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

    /// The queue holds the worker for dead: nothing of what it has is its own any more.
    mutating func forgetWorker() {
        guard phase == .working || phase == .leaving else { return }
        guard phase == .working else { return fail(nil) }
        (prepareQueue, gateQueue, reportQueue) = ([], [], [])
        for key in items.keys.sorted() { release(key) }
        blockedHosts = [:]
        lease.isInDoubt = true
        phase = .forgetting
    }

    /// The answers to calls of the former worker must not be taken for those of the next.
    mutating func registerAgain() {
        guard !claim.isInFlight, !beat.isInFlight, !gate.isInFlight, !report.isInFlight, !maintain.isInFlight else {
            return
        }
        guard stop == nil else { return fail(nil) }
        // After a failover this happens to the whole fleet at one time.
        register = CallPace(notBefore: now + jittered(.zero...(.seconds(1))))
        phase = .registering(nil)
    }

    static func bounded(_ leaseTime: Duration) -> Duration { leaseTime.clamped(.seconds(1), .seconds(86_400)) }
}
