/// Opens the connections of all downloads within what each host may have: one that finds no free connection slot waits for it, and the download
/// that has the most connections is asked to give one up.
///
/// Confined to the actor of its downloader.
final class ConnectionBroker {
    typealias ConnectionID = DownloadMachine.ConnectionID

    private let environment: TaskEnvironment
    private let scheduler: Scheduler
    private var pool: ConnectionPool { environment.pool }
    private var tasks: [DownloadID: DownloadTask] { scheduler.catalog.tasks }

    init(_ environment: TaskEnvironment, _ scheduler: Scheduler) {
        self.environment = environment
        self.scheduler = scheduler
    }

    /// Takes in what arrives on the event loops, from now on; the downloader is attached by then.
    func listen() { pool.onArrival = environment.spawner.signal(self) { broker, _ in broker.takeIn() } }

    func open(_ id: ConnectionID, _ request: RangeRequest, _ task: DownloadTask) {
        let host = task.source(of: request).origin
        if case .connecting = task.machine.state { pool.beginning(host) }
        if pool.reserve(host) {
            task.connect(id, request, host)
        } else if case .connecting = task.machine.state {
            pool.wait(id, request, of: task.id, for: host)
            requestSlot(host)
        } else {
            // Not at once: the machine is still in the middle of what it decided.
            environment.spawner.start(task) { task, _ in task.send(.connectionEnded(id, .noConnectionSlot)) }
        }
    }

    /// Frees a slot: asks the download that has the most connections to a host to give one up.
    func requestSlot(_ host: Origin) {
        let hosts = pool.isFull ? nil : host
        let counts = pool.sharing.compactMap { id in scheduler.queue.runs(id) ? tasks[id] : nil }
            .map { task in
                (task: task, count: hosts.map { task.machine.connections(to: $0) } ?? task.workers.count)
            }
            .filter { $0.count > 0 && $0.task.workers.count > 1 }
        guard let richest = counts.max(by: { $0.count < $1.count }) else { return }
        let wanted = hosts.map { [$0] } ?? Set(richest.task.machine.sources.sources.map(\.origin))
        pool.yielding(wanted)
        richest.task.send(.connectionWanted(wanted))
    }

    private func takeIn() {
        for arrival in pool.takeArrivals() {
            switch arrival {
            case .event(let event, let id):
                guard let task = tasks[id], !waitsForTurn(task, after: event) else { continue }
                task.receive(event)
            case .connectionGone(let host): gone(host)
            }
        }
    }

    /// A connection has ended: a download that waits for one to its host may have it.
    func gone(_ host: Origin) {
        pool.release(host)
        serve(host)
        retryRefused()
        offerSlots { $0.hasSlot(host) }
    }

    // MARK: Hosts that serve others only

    /// Lets a first connection wait that its host has closed without an answer while it serves other downloads: the machine takes it
    /// for one that has found no connection slot yet.
    private func waitsForTurn(_ task: DownloadTask, after event: DownloadMachine.Event) -> Bool {
        switch event {
        case .headReceived(let id, let head, _):
            pool.refused.answered(task.id)
            if head.status < 400, case .connecting(id, let request) = task.machine.state {
                pool.refused.served(task.source(of: request).origin, at: environment.services.time.now())
            }
            return false
        case .connectionEnded(let id, .failed(let failure, _)):
            guard failure.mayBeOfLimit, case .connecting(id, let request) = task.machine.state,
                // Another source of the file is better than a wait.
                task.machine.sources.isAlone
            else { return false }
            let host = task.source(of: request).origin
            let now = environment.services.time.now()
            let others = scheduler.running.reduce(0) { $0 + $1.machine.flowingConnections(to: host, at: now) }
            let isShared = scheduler.running.contains { $0 !== task && $0.uses(host) }
            let waiter = ConnectionLimiter.Waiter(download: task.id, connection: id, question: request)
            guard let wait = pool.refused.add(waiter, to: host, besides: others, isShared: isShared, at: now) else {
                return false
            }
            task.close(id)
            requestSlot(host)
            if case .time(let time) = wait { retryRefused(after: time) }
            return true
        default: return false
        }
    }

    private func retryRefused(after wait: Duration) {
        _ = environment.spawner.start(self, after: wait, environment.services.time.sleep) { broker, _ in
            broker.retryRefused()
        }
    }

    private func retryRefused() {
        while let (_, waiter) = pool.nextRefused() {
            guard let task = tasks[waiter.download], case .connecting(waiter.connection, _) = task.machine.state else {
                continue
            }
            open(waiter.connection, waiter.question, task)
        }
    }

    /// Hosts may have more connections, or fewer.
    func limitChanged() { offerSlots { _ in true } }

    private func offerSlots(_ hasSlot: (ConnectionPool) -> Bool) {
        // Where the connections of all hosts together are few, one to another host may be waited for.
        while let other = pool.nextHost { serve(other) }
        // And if none waits for its first one, a download that could use one more.
        for id in pool.waitingForSlot {
            // The first ones may have taken what there was.
            guard hasSlot(pool) else { return }
            guard let task = tasks[id], task.machine.wantsConnectionSlot else {
                pool.stopWaitingForSlot(id)
                continue
            }
            task.recordProgress()
        }
    }

    private func serve(_ host: Origin) {
        while let waiter = pool.nextWaiting(host) {
            if let task = tasks[waiter.download], case .connecting(waiter.connection, _) = task.machine.state {
                task.connect(waiter.connection, waiter.question, host)
            } else {
                pool.release(host)
            }
        }
    }

    /// Bytes that one write of a body may gather. All connections share a budget of 32 MiB: what is under way must not grow with
    /// their number.
    var writeBatchBytes: Int {
        min(environment.configuration.storage.batchBytes, max(1 << 16, (32 << 20) / max(1, 2 * pool.openCount)))
    }
}
