/// Answer to a task that asks for a connection slot.
enum SlotAnswer {
    /// The task has the slot and connects now.
    case granted
    /// No slot is free. The broker calls ``DownloadTask/connect(_:_:_:)`` when the task has one.
    case waits
    /// No slot is free, and an additional connection does not wait for one.
    case refused
}

/// Gives the connection slots of each host to the downloads. A first connection that finds no free slot waits for one,
/// and the broker asks the download with the most connections to give one up.
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

    /// Connection slots for the segments of films. A film takes each additional slot separately, and gets none while a
    /// download waits for the host.
    private(set) lazy var segmentSlots = StreamSlots(
        take: environment.spawner.receiver(self) { broker, host, _ in broker.pool.reserve(host) },
        give: environment.spawner.receiver(self) { broker, host, _ in
            broker.gone(host)
            return true
        }
    )

    /// Starts to take in the reports of the workers. The spawner must have its downloader before this call
    /// (``ActorSpawner/attach(_:)``).
    func listen() { pool.onArrival = environment.spawner.signal(self) { broker, _ in broker.takeIn() } }

    /// Takes a slot of `host` for a connection of a task. Keeps the request if the task waits.
    func takeSlot(_ host: Origin, _ task: DownloadTask, for id: ConnectionID, _ request: RangeRequest) -> SlotAnswer {
        let isFirst = if case .connecting = task.machine.state { true } else { false }
        if isFirst { pool.beginning(host) }
        if pool.reserve(host) { return .granted }
        guard isFirst else { return .refused }
        pool.wait(id, request, of: task.id, for: host)
        requestSlot(host)
        return .waits
    }

    /// Asks the download with the most connections to `host` to give one up. If the limit over all hosts is reached,
    /// connections to all hosts count.
    func requestSlot(_ host: Origin) {
        let hosts = pool.isFull ? nil : host
        let counts = pool.sharing.compactMap { id in scheduler.queue.runs(id) ? tasks[id] : nil }
            .map { task in
                (task: task, count: hosts.map { task.machine.connections(to: $0) } ?? task.connections.count)
            }
            .filter { $0.count > 0 && $0.task.connections.count > 1 }
        guard let richest = counts.max(by: { $0.count < $1.count }) else { return }
        let wanted = hosts.map { [$0] } ?? Set(richest.task.machine.sources.sources.map(\.origin))
        pool.yielding(wanted)
        richest.task.send(.connectionWanted(wanted))
    }

    private func takeIn() {
        for arrival in pool.takeArrivals() {
            let (id, download) = (arrival.connection, arrival.download)
            switch arrival.report {
            case .head(let head, let retryAfter): pass(.headReceived(id, head, retryAfter: retryAfter), to: download)
            case .ended(let end): pass(.connectionEnded(id, end), to: download)
            case .gone: gone(arrival.host)
            }
        }
    }

    private func pass(_ event: DownloadMachine.Event, to download: DownloadID) {
        guard let task = tasks[download], !waitsForTurn(task, after: event) else { return }
        task.receive(event)
    }

    /// Releases the slot of an ended connection and offers it to the downloads that wait for one.
    func gone(_ host: Origin) {
        pool.release(host)
        serve(host)
        retryRefused()
        offerSlots { $0.hasSlot(host) }
    }

    // MARK: Hosts that serve only other downloads

    /// Returns whether the first connection waits for its turn after `event`. It waits if the connection failed for a
    /// reason that may be a connection limit of its host, and the host serves other downloads. The machine treats this
    /// wait like the wait for a connection slot.
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
                // A download with another source asks that source instead of waiting.
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
            task.run(task.open(waiter.connection, waiter.question))
        }
    }

    /// Offers slots to waiting downloads after the limit of connections per host has changed.
    func limitChanged() { offerSlots { _ in true } }

    private func offerSlots(_ hasSlot: (ConnectionPool) -> Bool) {
        // If the limit on all hosts together is reached, downloads may wait for a slot at another host.
        while let other = pool.nextHost { serve(other) }
        // If no first connection waits, a download may open an additional one.
        for id in pool.waitingForSlot {
            // Connections that were opened above may have taken all slots.
            guard hasSlot(pool) else { return }
            guard let task = tasks[id], task.wantsConnectionSlot else {
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

    /// Maximum number of bytes that one write of a body gathers. A connection may have two such writes under way. The
    /// writes of all connections share a budget of 32 MiB, so that the bytes in memory do not grow with the number of
    /// connections, but each write may gather at least 64 KiB.
    var writeBatchBytes: Int {
        min(environment.configuration.storage.batchBytes, max(1 << 16, (32 << 20) / max(1, 2 * pool.openCount)))
    }
}
