/// Runs the events for the machine one after another, and the steps one after another.
extension DownloadTask {
    /// Passes an event to the machine and performs the actions that it returns.
    func send(_ event: DownloadMachine.Event) {
        environment.spawner.assertIsolated()
        // An action may send an event at once. `steps` keeps this event until the other actions are performed.
        guard steps.begin(event) else { return }
        let wasTransferring = isTransferring
        var hasActed = handle(event)
        while let next = steps.next() {
            if handle(next) { hasActed = true }
        }
        if wasTransferring, !isTransferring { run(noteAtEnd()) }
        if hasActed { environment.delegate?.taskDidAct(self) }
    }

    /// - Returns: whether the machine returned any action.
    private func handle(_ event: DownloadMachine.Event) -> Bool {
        let surroundings = needsSurroundings ? surroundings : nil
        let now = environment.services.time.now()
        let actions = machine.handle(event, at: now, in: surroundings)
        if let trace {
            trace.record(id, .init(at: now, event: event, surroundings: surroundings, actions: actions))
        }
        if wantsConnectionSlot { environment.pool.waitForSlot(id) }
        for action in actions { perform(action) }
        return !actions.isEmpty
    }

    /// Passes an event of a connection to the machine, with the current ranges. Ignores the end of a connection that
    /// was closed before.
    func receive(_ event: DownloadMachine.Event) {
        if case .connectionEnded(let id, _) = event {
            guard connections.remove(id) != nil else { return }
            environment.pool.ended(id, of: self.id)
        }
        send(part.map { event.with($0.persisted) } ?? event)
    }

    /// Runs `work` after all earlier steps.
    ///
    /// - Parameter work: returns the event that reports its end to the machine.
    func step(_ work: @escaping Step) {
        let previous = steps.last
        steps.append(
            environment.spawner.start(self) { task, downloader in
                await previous?.value
                if let event = await work(task, downloader) { task.send(event) }
                task.steps.stepEnded()
                task.environment.delegate?.taskDidEndStep(task)
            }
        )
    }

    /// Work on the file or the record, on the actor of the downloader.
    typealias Step = @Sendable (DownloadTask, isolated Downloader) async -> DownloadMachine.Event?

    /// Rest of an action. The function that performs the action returns the rest, and ``run(_:)`` does it.
    enum Work {
        case nothing
        /// Event for the machine, sent now.
        case event(DownloadMachine.Event)
        /// Work after all earlier steps.
        case step(Step)
        /// Work that does not wait for the steps.
        case beside(Step)
    }

    /// Does the rest of an action.
    func run(_ work: Work) {
        switch work {
        case .nothing: break
        case .event(let event): send(event)
        case .step(let work): step(work)
        case .beside(let work):
            environment.spawner.start(self) { task, downloader in
                if let event = await work(task, downloader) { task.send(event) }
            }
        }
    }

    /// Returns when no step is running any more.
    func settled(isolation: isolated (any Actor)? = #isolation) async {
        await leftBatch()
        while let step = steps.last {
            await step.value
            if steps.last == step { return }
        }
    }

    /// Starts the download after it got a slot.
    func start() {
        // A download that backs off continues when its wait is over.
        if case .backingOff = machine.state { return }
        let host = environment.pool.known(Origin(machine.settings.url))
        send(.hostKnown(host, linkExpiresAt: linkExpiry))
        environment.metrics.start()
        logStart()
        send(.slotGranted)
    }

    private var surroundings: DownloadMachine.Surroundings {
        .init(
            connectionSlots: environment.pool.freeSlots(machine.sources),
            isHeldBack: connections.speedLimit.isEffective,
            additionalConnections: environment.pool.additionalCount,
            localWork: localWork
        )
    }

    /// Time in which this machine, rather than a connection, was the limit.
    private var localWork: Duration? {
        guard let part else { return nil }
        let services = environment.services
        return part.writing + (services.processors?.crowdedTime(at: services.time.now()) ?? .zero)
    }
}
