extension WorkerMachine {
    /// Whether files may get their final names now. ``FleetWorker`` must check the deadline again immediately before
    /// publishing, because the process may have slept since the action was returned.
    func mayPublish(at time: Duration) -> Bool {
        phase == .working && !lease.isInDoubt && time < lease.deadline
    }

    /// Puts the lease in doubt after its deadline. Runs before every event, because much time may have passed since
    /// the last one.
    mutating func checkDeadline() {
        guard phase == .working, !lease.isInDoubt, now >= lease.deadline else { return }
        lease.putInDoubt()
        stopMoving()
        if !calls[.beat].isInFlight, calls[.beat].failures == 0 { calls.wait(.beat, until: now) }
    }

    private mutating func stopMoving() {
        suspendTransfers()
        calls.gateBecameVoid()
    }

    private mutating func resumeMoving() {
        for key in items.sortedKeys {
            switch items[key]?.stage {
            case .waiting: beginDownload(key)
            case .downloading, .preparing: request(.resume(key))
            default: break
            }
        }
        destination.allowPreparations(at: now)
    }

    mutating func sendBeat() {
        guard phase == .working, !calls[.beat].isInFlight, now >= calls[.beat].notBefore else { return }
        send(.beat)
    }

    mutating func beatAnswered(_ answer: Beat, sentAt: Duration) {
        guard calls[.beat].isInFlight else { return }
        calls.succeeded(.beat, at: now)
        guard phase == .working else { return }
        confirmLease(answer.leaseTime, sentAt: sentAt)
        let nextBeat = sentAt + lease.nextBeatDelay(&delays)
        calls.wait(.beat, until: max(now, nextBeat))
        for (host, duration) in hostBlocks.update(answer.blockedHosts, at: now) { request(.blockHost(host, duration)) }
        for key in answer.cancelled { leaseLost(key) }
        if claims.isPaused, !answer.isPaused {
            let delay = delays.random(in: .zero...(.seconds(1)))
            calls.advance(.claim, to: now + delay)
        }
        claims.queuePaused(answer.isPaused)
        if answer.isDraining { stop.requestDrain() }
    }

    private mutating func confirmLease(_ leaseTime: Duration, sentAt: Duration) {
        let wasInDoubt = lease.isInDoubt
        lease.confirm(leaseTime, sentAt: sentAt, now: now)
        guard lease.isInDoubt != wasInDoubt else { return }
        if wasInDoubt { resumeMoving() } else { stopMoving() }
    }

    mutating func beatFailed(_ error: FleetError) {
        guard phase == .working else { return }
        if lease.isInDoubt, error.isRefusal { return end(error) }
        calls.backOff(.beat, at: now, limit: min(.seconds(30), lease.leaseTime / 8), &delays)
    }

    /// Drops an item that another worker has or may have, or that was cancelled, according to the queue.
    mutating func leaseLost(_ key: LeaseKey) {
        switch items[key]?.stage {
        case nil, .publishing, .reporting: return
        case .waiting, .downloading, .staged, .preparing, .prepared, .packed: release(key)
        }
        claims.itemEnded()
    }
}
