import HaulKit

@testable import HaulFleet

/// Handles the events of a process.
extension History {
    func start(_ process: SimulatedProcess, isSameFolder: Bool) {
        guard !process.isRunning, !isEnding else { return }
        process.clear()
        process.startedAt = now
        if !isSameFolder { process.folder = SimulatedProcess.WorkFolder() }
        var settings = WorkerMachine.Settings()
        settings.capacity = process.capacity
        settings.claimBatch = max(1, process.capacity / 2)
        settings.publishBatch = Int(pick(1...4))
        settings.predecessor = process.folder.worker
        settings.endsWhenDrained = process.endsWhenDrained
        settings.idleClaimLimit = .seconds(20)
        settings.retryDelayLimit = .seconds(30)
        settings.retryAfterLimit = .seconds(40)
        // A file has about 1,000 bytes. The age ends shards that the items of the history do not fill.
        if chance(0.3) { settings.shardBytes = pick(1...5) * 1000 }
        settings.shardAge = .seconds(pick(1...60))
        let machine = WorkerMachine(settings: settings, seed: random.next())
        process.machine = machine
        trace("p\(process.number) starts at \(process.rate) %, predecessor \(settings.predecessor ?? 0)")
        change(process) { machine, time in machine.start(at: time) }
    }

    func kill(_ process: SimulatedProcess) {
        guard process.isRunning else { return }
        trace("p\(process.number) is killed")
        process.clear()
        push(
            .restart(process.number, isSameFolder: chance(0.7)),
            after: isHealed ? Self.second : delay(upTo: 64 * Self.second)
        )
    }

    func freeze(_ process: SimulatedProcess, for duration: Int64) {
        guard process.isRunning, !process.isFrozen else { return }
        trace("p\(process.number) stands still for \(duration / 1_000_000) ms")
        process.isFrozen = true
        push(.thaw(process.number), after: duration)
    }

    func thaw(_ process: SimulatedProcess) {
        guard process.isFrozen else { return }
        trace("p\(process.number) continues")
        process.isFrozen = false
        var waiting = process.deferred
        process.deferred = []
        waiting.shuffle(using: &random)
        for event in waiting { push(event, after: pick(0...3) * 1_000_000) }
    }

    func happen(_ event: ProcessEvent, in process: SimulatedProcess) {
        switch event {
        case .timer(let generation):
            // An old timer may fire as well. It has no effect.
            if generation == process.timerGeneration { process.timerAt = nil } else if !chance(0.1) { return }
            deliver(.timer, to: process)
        case .event(let event): deliver(event, to: process)
        case .replied(let request, let reply): replied(request, reply, in: process)
        case .transferEnds(let key, let token): transferEnds(key, token, in: process)
        case .preparationEnds(let key, let token, let upload): preparationEnds(key, token, upload, in: process)
        case .publish(let files, let worker): publish(files, by: worker, from: process)
        }
    }

    func deliver(_ event: WorkerEvent, to process: SimulatedProcess) {
        trace("p\(process.number) <- \(event)")
        noteAnswer(event, to: process)
        if case .prepared(let key, _) = event { process.preparations[key] = nil }
        change(process) { machine, time in machine.handle(event, at: time) }
    }

    private func change(
        _ process: SimulatedProcess,
        _ change: (inout WorkerMachine, Duration) -> [WorkerAction]
    ) {
        guard var machine = process.machine else { return }
        let time = process.clock(at: now)
        process.machine = nil
        let actions = change(&machine, time)
        process.machine = machine
        let incarnation = process.incarnation
        for action in actions {
            trace("p\(process.number) -> \(action)")
            check(action, of: process)
            perform(action, in: process)
            guard process.incarnation == incarnation, violations.isEmpty else { return }
        }
        check(process)
        setTimer(process)
    }

    private func setTimer(_ process: SimulatedProcess) {
        guard let due = process.machine?.nextTimer else {
            process.timerAt = nil
            return
        }
        if due <= process.clock(at: now) { violate("p\(process.number) wants a timer that is past: \(due)") }
        let time = max(now, process.time(of: due))
        guard process.timerAt != time else { return }
        process.timerAt = time
        process.timerGeneration += 1
        push(.timer(generation: process.timerGeneration), in: process, after: time - now)
    }

    func replied(_ request: RemoteRequest, _ reply: RemoteReply, in process: SimulatedProcess) {
        switch (request.call, reply) {
        case (.worker, .event(let event)):
            if case .registered(let registration, _) = event {
                process.worker = registration.worker
                process.folder.worker = registration.worker
                process.claimNumber = 1
                (process.held, process.discarded) = ([], [])
            }
            if case .claimed = event { process.claimNumber += 1 }
            if case .registered = event { process.confirmedTrueAt = request.sentTrueAt }
            if case .beatAnswered = event { process.confirmedTrueAt = max(process.confirmedTrueAt, request.sentTrueAt) }
            if case .maintained = event, destination.isStore, chance(0.5) { send(.orphanUploads, from: process) }
            deliver(event, to: process)
        case (.worker(let call), .failed(let error)): deliver(.callFailed(call, error), to: process)
        case (.recordUpload(let key, let upload, let token), _): recorded(key, upload, token, reply, in: process)
        case (.orphanUploads, .orphans(let uploads)):
            let gone = uploads.filter { destination.abort($0.uploadID) }
            if !gone.isEmpty { send(.forget(gone), from: process) }
        default: break
        }
    }

    /// Asks all running processes to end, once all items are done.
    func endProcesses() {
        isEnding = true
        checkRegistrations()
        trace("everything is done: the workers end")
        for process in processes where process.isRunning {
            push(.event(.stopRequested), in: process, after: delay(upTo: Self.second))
        }
    }
}
