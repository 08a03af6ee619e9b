extension WorkerMachine {
    mutating func stopRequested() {
        guard stop.requestStop(at: now) else { return }
        for key in items.sortedKeys { giveBack(key) }
    }

    mutating func leaveIfFinished() {
        guard phase == .working, stop.isRequested, items.isEmpty, !calls[.claim].isInFlight else { return }
        stop.leavingBegan(at: now)
        enter(.leaving)
        calls.restart(.leave)
    }

    mutating func sendLeave() {
        guard phase == .leaving, !calls[.leave].isInFlight, now >= calls[.leave].notBefore else { return }
        send(.leave)
    }

    mutating func left() {
        guard phase == .leaving, calls[.leave].isInFlight else { return }
        calls.succeeded(.leave, at: now)
        end(nil)
    }

    mutating func leaveFailed(_ error: FleetError) {
        if error.code == .workerUnknown { return end(nil) }
        if error.isRefusal { return end(error) }
        calls.backOff(.leave, at: now, limit: .seconds(2), &delays)
    }

    /// Time when an ending worker gives up on the database; `nil` if the worker is not ending or is publishing.
    var givesUpAt: Duration? {
        guard stop.kind == .now || phase == .leaving, phase != .ended, !items.isAnyPublishing else { return nil }
        return max(stop.since, calls.answeredAt) + settings.stopPatience
    }

    mutating func checkPatience() {
        guard let time = givesUpAt, now >= time else { return }
        end(
            calls.lastError
                ?? FleetError(.databaseUnreachable, "The database did not answer while the worker was ending.")
        )
    }

    /// Ends the worker at once. Leases that it still holds expire.
    mutating func end(_ error: FleetError?) {
        guard phase != .ended else { return }
        suspendTransfers()
        enter(.ended)
        request(.end(error))
    }
}
