extension WorkerMachine {
    /// Whether files may get their names now. To be asked once more right before the names are given, with the clock of then: the
    /// process may have stood still since the action was returned.
    func mayPublish(at time: Duration) -> Bool {
        phase == .working && !lease.isInDoubt && time < lease.deadline
    }

    /// Looked at before every event: the time since the last one may have been long.
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

    /// An answer that is itself older than the deadline confirms nothing.
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

    /// The queue has said that another worker has the item, or may have.
    mutating func leaseLost(_ key: LeaseKey) {
        switch items[key]?.stage {
        case nil, .publishing, .reporting: return
        case .waiting, .downloading, .staged, .preparing, .prepared: release(key)
        }
        claims.hasEndedItem = true
    }

    /// Forgets an item that is not the worker's any more.
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
    /// Whether bytes are being moved for it.
    var isTransfer: Bool {
        switch self {
        case .downloading, .preparing: true
        default: false
        }
    }
}
