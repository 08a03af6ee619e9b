extension WorkerMachine {
    mutating func stopRequested() {
        guard stop != .now else { return }
        stop = .now
        stoppedAt = now
        for key in items.keys.sorted() { giveBack(key) }
    }

    /// Returns an item to the queue unless it has passed the gate.
    mutating func giveBack(_ key: LeaseKey) {
        switch items[key]?.stage {
        case nil, .publishing, .reporting: return
        case .downloading, .preparing: actions.append(.suspend(key))
        case .waiting, .staged, .prepared: break
        }
        finish(key, .returned)
        gateQueue.removeAll { $0 == key }
        prepareQueue.removeAll { $0 == key }
    }

    mutating func endIfFinished() {
        guard phase == .working, stop != nil, items.isEmpty, !claim.isInFlight else { return }
        if phase == .working, stop != .now { stoppedAt = now }
        phase = .leaving
        leave = CallPace()
    }

    mutating func sendLeave() {
        guard phase == .leaving, !leave.isInFlight, now >= leave.notBefore else { return }
        leave.begin(at: now)
        actions.append(.call(.leave))
    }

    mutating func left() {
        guard phase == .leaving, leave.isInFlight else { return }
        leave.succeed()
        fail(nil)
    }

    mutating func leaveFailed(_ error: FleetError) {
        leave.fail(error)
        if error.code == .workerUnknown { return fail(nil) }
        if isRefusal(error) { return fail(error) }
        leave.notBefore = now + callDelay(leave.failures, limit: .seconds(2))
    }

    /// Time when an ending worker gives up on the database; `nil` if the worker is not ending or is publishing.
    var givesUpAt: Duration? {
        guard stop == .now || phase == .leaving, phase != .ended, !isPublishing else { return nil }
        return max(stoppedAt, answeredAt) + settings.stopPatience
    }

    private var isPublishing: Bool {
        items.values.contains { if case .publishing = $0.stage { true } else { false } }
    }

    mutating func checkPatience() {
        guard let time = givesUpAt, now >= time else { return }
        let errors = [leave, report, register, beat, claim, gate].compactMap(\.lastError)
        fail(
            errors.first
                ?? FleetError(.databaseUnreachable, "The database did not answer while the worker was ending.")
        )
    }
}
