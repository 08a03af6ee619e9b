/// Handles events, and performs the steps that are due.
extension WorkerMachine {
    /// Starts the registration. A second call changes nothing.
    mutating func start(at time: Duration) -> [WorkerAction] {
        guard phase == .created else { return [] }
        advanceClock(to: time)
        enter(.registering(settings.predecessor))
        proceed()
        return takeActions()
    }

    /// - Parameter time: the worker's clock now, not at the time of the event.
    mutating func handle(_ event: WorkerEvent, at time: Duration) -> [WorkerAction] {
        guard phase != .created, phase != .ended else { return [] }
        advanceClock(to: time)
        checkDeadline()
        switch event {
        case .registered(let registration, let sentAt): registered(registration, sentAt: sentAt)
        case .claimed(let claim, let sentAt): claimed(claim, sentAt: sentAt)
        case .beatAnswered(let beat, let sentAt): beatAnswered(beat, sentAt: sentAt)
        case .downloadEnded(let key, let ending): downloadEnded(key, ending)
        case .prepared(let key, let result): prepared(key, result)
        case .leaseLost(let key): leaseLost(key)
        case .gated(let keys, let held): gated(keys, held: held)
        case .published(let outcomes): published(outcomes)
        case .reported(let reports, let accepted): reported(reports, accepted: accepted)
        case .maintained(let result): maintained(result)
        case .left: left()
        case .callFailed(let call, let error): callFailed(call, error)
        case .timer: break
        case .stopRequested: stopRequested()
        }
        proceed()
        return takeActions()
    }

    private mutating func callFailed(_ call: WorkerCall, _ error: FleetError) {
        guard calls.isInFlight(call) else { return }
        calls.failed(call.kind, error)
        switch call {
        case .register: registrationFailed(error)
        case .leave: leaveFailed(error)
        case .claim: claimFailed(error)
        case .beat: beatFailed(error)
        case .gate(let keys): gateFailed(keys, error)
        case .report(let reports): reportFailed(reports, error)
        case .maintain: maintenanceFailed()
        }
        guard error.code == .workerUnknown, phase == .working else { return }
        forgetWorker()
    }

    /// Time when ``WorkerEvent/timer`` is due, by the worker's clock; `nil` if the machine waits for another event.
    var nextTimer: Duration? {
        var times: [Duration] = []
        func add(_ kind: WorkerCall.Kind) { if !calls[kind].isInFlight { times.append(calls[kind].notBefore) } }
        switch phase {
        case .created, .ended: return nil
        case .registering: add(.register)
        case .forgetting: break
        case .working:
            if !lease.isInDoubt { times.append(lease.deadline) }
            add(.beat)
            if !stop.isRequested { add(.maintain) }
            if let time = nextClaim { times.append(time) }
            if let time = nextGate { times.append(time) }
            if let time = nextShard { times.append(time) }
            if let time = nextReport { times.append(time) }
            if let time = nextPreparation { times.append(time) }
        case .leaving: add(.leave)
        }
        if let time = givesUpAt { times.append(time) }
        return times.min()
    }

    /// Performs all steps that are due.
    private mutating func proceed() {
        checkDeadline()
        checkPatience()
        if phase == .forgetting { registerAgain() }
        if case .registering = phase { sendRegistration() }
        if phase == .working {
            leaveIfFinished()
            sendBeat()
            sendClaim()
            sendMaintenance()
            prepareWaiting()
            sendGate()
            sendShards()
            sendReports()
            leaveIfFinished()
        }
        if phase == .leaving { sendLeave() }
    }
}
