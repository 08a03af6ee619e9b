extension WorkerMachine {
    /// Whether files may get their final names now. Effects must check the deadline again immediately before
    /// publishing, because the process may have slept since the action was returned.
    func mayPublish(at time: Duration) -> Bool {
        phase == .working && !lease.isInDoubt && time < lease.deadline
    }

    /// Puts the lease in doubt after its deadline. Runs before every event, because much time may have passed since
    /// the last one.
    mutating func checkDeadline() {
        guard phase == .working, !lease.isInDoubt, now >= lease.deadline else { return }
        lease.isInDoubt = true
        stopMoving()
        if !beat.isInFlight, beat.failures == 0 { beat.notBefore = now }
    }

    private mutating func stopMoving() {
        suspendTransfers()
        isGateVoid = true
    }

    mutating func sendBeat() {
        guard phase == .working, !beat.isInFlight, now >= beat.notBefore else { return }
        beat.begin(at: now)
        actions.append(.call(.beat))
    }

    mutating func nextBeatDelay() -> Duration { lease.leaseTime * 0.25 * (0.8 + 0.2 * fraction()) }

    mutating func beatAnswered(_ answer: Beat, sentAt: Duration) {
        guard beat.isInFlight else { return }
        beat.succeed()
        answeredAt = now
        guard phase == .working else { return }
        confirm(answer, sentAt: sentAt)
        beat.notBefore = max(now, sentAt + nextBeatDelay())
        blockHosts(answer.blockedHosts)
        if claims.isPaused, !answer.isPaused {
            claim.notBefore = min(claim.notBefore, now + jittered(.zero...(.seconds(1))))
        }
        claims.isPaused = answer.isPaused
        if answer.isDraining, stop == nil { stop = .drain }
    }

    /// Confirms the lease as of `sentAt`. An answer that is older than the deadline leaves the lease in doubt.
    private mutating func confirm(_ answer: Beat, sentAt: Duration) {
        guard sentAt <= now, sentAt >= lease.confirmedAt else { return }
        lease.leaseTime = Self.bounded(answer.leaseTime)
        lease.confirmedAt = sentAt
        let isInDoubt = now >= lease.deadline
        guard lease.isInDoubt != isInDoubt else { return }
        lease.isInDoubt = isInDoubt
        if isInDoubt { stopMoving() } else { resumeTransfers() }
    }

    mutating func beatFailed(_ error: FleetError) {
        beat.fail(error)
        guard phase == .working else { return }
        if lease.isInDoubt, isRefusal(error) { return fail(error) }
        beat.notBefore = now + callDelay(beat.failures, limit: min(.seconds(30), lease.leaseTime / 8))
    }

    mutating func suspendTransfers() {
        for key in items.keys.sorted() where items[key]?.stage.isTransfer == true { actions.append(.suspend(key)) }
    }

    private mutating func resumeTransfers() {
        for key in items.keys.sorted() {
            switch items[key]?.stage {
            case .waiting: begin(key)
            case .downloading, .preparing: actions.append(.resume(key))
            default: break
            }
        }
        destination.prepareNotBefore = now
    }

    /// Drops an item that another worker has or may have, according to the queue.
    mutating func leaseLost(_ key: LeaseKey) {
        switch items[key]?.stage {
        case nil, .publishing, .reporting: return
        case .waiting, .downloading, .staged, .preparing, .prepared: release(key)
        }
        claims.hasEndedItem = true
    }

    /// Forgets an item that no longer belongs to the worker.
    mutating func release(_ key: LeaseKey) {
        guard let item = items.removeValue(forKey: key) else { return }
        if item.stage.isTransfer { actions.append(.suspend(key)) }
        discard(key)
        prepareQueue.removeAll { $0 == key }
        gateQueue.removeAll { $0 == key }
        reportQueue.removeAll { $0.key == key }
    }

    func isPrepared(_ key: LeaseKey) -> Bool {
        if case .prepared = items[key]?.stage { true } else { false }
    }
}

extension WorkerMachine.Stage {
    /// Whether the stage moves bytes.
    var isTransfer: Bool {
        switch self {
        case .downloading, .preparing: true
        default: false
        }
    }
}
