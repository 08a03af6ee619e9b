internal import Foundation
internal import Logging

/// Grants slots to downloads, and decides when downloads may run at all. Reads the rows of the next downloads into
/// memory before their turn.
///
/// Confined to the actor of its downloader.
final class Scheduler {
    /// Number of waiting downloads that are read from the store at a time.
    static let readTogether = 256
    /// Fewest downloads that should be in memory ahead of their slots.
    private static let readAhead = 64
    /// Longest wait before the next attempt during which a download keeps its slot. Another download could hardly use
    /// the slot in that time, because it must first look up the host and open a connection. The download that backs off
    /// might then have to wait for the end of the other one.
    private static let longestWaitWithSlot = Duration.seconds(2)

    let environment: TaskEnvironment
    let catalog: DownloadCatalog
    let idle: IdleWatch
    let speed: SpeedControl
    let records: RecordKeeper
    var queue: DownloadQueue
    private var timer: (at: Instant, task: Task<Void, Never>)?
    /// Whether the next rows of the queue are being read.
    private var isReadingAhead = false
    /// Number of calls of ``fill(_:isolation:)`` that still read rows in the background.
    var fills = 0
    var fillSizes = FillSizes()
    /// Slots granted since rows were last read ahead.
    private var grantsSinceReading = 0
    var services: EngineServices { environment.services }
    private var tasks: [DownloadID: DownloadTask] { catalog.tasks }

    init(
        _ environment: TaskEnvironment,
        _ catalog: DownloadCatalog,
        _ idle: IdleWatch,
        _ speed: SpeedControl,
        _ queue: DownloadQueue
    ) {
        self.environment = environment
        records = RecordKeeper(environment)
        self.catalog = catalog
        self.idle = idle
        self.speed = speed
        self.queue = queue
    }

    /// Whether some waiting downloads of the store are not in the queue yet.
    var isFilling: Bool { fills > 0 }
    /// The tasks that have a slot.
    var running: [DownloadTask] { queue.running.compactMap { tasks[$0] } }
    /// The tasks that have a slot, and the tasks that back off without one.
    var runningOrBackingOff: [DownloadTask] { running + queue.allBackingOff.compactMap { tasks[$0] } }

    // MARK: Slots

    /// Grants all free slots to waiting downloads. Call this method after each change that may free a slot.
    ///
    /// With ``Downloader/Configuration/Storage/waitsForSpace``, grants none while the disk of the store is full.
    func startQueuedDownloads() {
        guard !environment.isShuttingDown else { return }
        let now = services.time.now()
        let waits = environment.configuration.storage.waitsForSpace && services.store.lackOfSpace != nil
        let (granted, withdrawn) = waits ? ([], []) : queue.grant(at: now)
        for id in withdrawn { tasks[id]?.send(.slotWithdrawn) }
        for id in granted {
            if let task = tasks[id] { task.start() } else { beginLoading(id) }
        }
        grantsSinceReading += granted.count
        if grantsSinceReading >= Self.readAhead / 2 { readAhead() }
        wake(at: queue.nextGrant(after: now), now)
        let counts = queue.counts
        environment.metrics.lines(running: counts.running, waiting: counts.waiting, backingOff: counts.backingOff)
        idle.changed()
    }

    /// Takes the slot of a task that waits longer than `longestWaitWithSlot` before its next attempt. The caller grants
    /// the slot to another download.
    func backsOff(_ task: DownloadTask, for wait: Duration) {
        if wait > Self.longestWaitWithSlot { queue.backOff(task.id) }
    }

    /// Ends the wait of a task. A task that has left its slot is put in the queue again.
    ///
    /// - Returns: whether the task has a slot.
    func hasBackedOff(_ task: DownloadTask) -> Bool {
        if queue.runs(task.id) { return true }
        queue.enqueue(task.queueItem)
        startQueuedDownloads()
        return queue.runs(task.id)
    }

    /// Calls `startQueuedDownloads` again at `next`, when the ``Downloader/Configuration/Queue/hostSpacing`` of a host
    /// is over.
    private func wake(at next: Instant?, _ now: Instant) {
        guard let next else { return }
        if let timer, timer.at <= next { return }
        timer?.task.cancel()
        let wait = max(next - now, .milliseconds(1))
        let task = environment.spawner.start(self, after: wait, services.time.sleep) { scheduler, _ in
            scheduler.timer = nil
            scheduler.startQueuedDownloads()
        }
        timer = (next, task)
    }

    func stop() { timer?.task.cancel() }

    /// Loads a download that got a slot before its row was read.
    private func beginLoading(_ id: DownloadID) {
        environment.spawner.start(self) { scheduler, _ in await scheduler.loadAndStart(id) }
    }

    private func loadAndStart(_ id: DownloadID, isolation: isolated (any Actor)? = #isolation) async {
        let found = await load(id)
        guard queue.runs(id) else {
            // The slot is gone, for example because the download was paused during the load.
            if case .success(let task?) = found { evict(task) }
            return
        }
        switch found {
        case .success(let task?) where task.machine.state == .queued: task.start()
        case .success(let task):
            if task?.isAtRest ?? true { endedElsewhere(id, task) }
            if let task { evict(task) }
            startQueuedDownloads()
        case .failure(let error):
            cannotBeRead(id, error)
            startQueuedDownloads()
        }
    }

    private func load(_ id: DownloadID, isolation: isolated (any Actor)? = #isolation) async
        -> Result<DownloadTask?, DownloadError>
    {
        do throws(DownloadError) {
            try await catalog.lock()
            defer { catalog.unlock() }
            return .success(try await catalog.load(id))
        } catch { return .failure(error) }
    }

    /// Reads the rows of the next downloads before their turn.
    private func readAhead() {
        grantsSinceReading = 0
        guard !isReadingAhead, !environment.isShuttingDown else { return }
        let next = queue.next(Self.readTogether).filter { tasks[$0] == nil }
        guard next.count > Self.readTogether - Self.readAhead || next.count == queue.waitingCount, !next.isEmpty else {
            return
        }
        isReadingAhead = true
        environment.spawner.start(self) { scheduler, _ in await scheduler.read(next) }
    }

    private func read(_ next: [DownloadID], isolation: isolated (any Actor)? = #isolation) async {
        do throws(DownloadError) {
            try await catalog.lock()
            defer { catalog.unlock() }
            for saved in try await services.store.find(ids: next) {
                guard let id = DownloadID(saved.record.id), queue.waits(id) else { continue }
                // A download that another process has ended is noticed when it gets its slot.
                if saved.record.status == .queued { catalog.takeIn(saved) }
            }
        } catch { services.logger.debug("store: \(error)") }
        isReadingAhead = false
    }

    /// Enqueues a download whose record was just stored. Keeps the download in memory only if its turn comes soon.
    func enqueue(_ record: DownloadRecord) {
        guard let id = DownloadID(record.id) else { return }
        if queue.waitingCount < Self.readTogether { catalog.insert(catalog.factory.task(id, record)) }
        queue.enqueue(
            .init(id: id, host: record.host ?? "", priority: record.request.priority, position: record.position)
        )
    }

    /// Removes downloads from the queue.
    func leave(_ ids: [DownloadID]) {
        // Removing all waiting downloads at once is free; removing 100,000 one by one costs as much as the store
        // update.
        if ids.count >= queue.waitingCount, ids.count(where: { queue.waits($0) }) == queue.waitingCount {
            queue.removeAllWaiting()
        }
        for id in ids { queue.leave(id) }
    }

    /// Removes the waiting downloads that are not in memory from the queue. Call this method only if no other process
    /// has the store: rows that another process runs could wait here too, and their outcome is unknown.
    func leaveAllOutOfMemory() {
        let inMemory = tasks.values.filter { queue.waits($0.id) }
        queue.removeAllWaiting()
        for task in inMemory { queue.enqueue(task.queueItem) }
    }

    // MARK: Out of memory

    /// Removes a download that has come to rest from memory; only its row remains. A handle keeps the last snapshot.
    func evict(_ task: DownloadTask) {
        defer { idle.look() }
        // Keeps a held download, which goes on by itself. Held downloads that wait for disk space may leave memory:
        // there may be thousands, and the wait list knows them.
        guard isAtRest(task), task.record.hold == nil || mayEvictHeld(task) else { return }
        // Keeps a paused download if its row does not record the pause, or if another process may own the row now. Once
        // evicted, the download could go on by itself, or never be resumed.
        if task.machine.state == .paused,
            !task.ownership.isOwned || task.ownership.isPauseUnrecorded || services.store.hasMetOthers
        {
            return
        }
        catalog.remove(task)
        if case .completed = task.machine.state { records.noteEnd() }
    }

    /// Whether a held download may leave memory: no other process can take over its row, and the row records the hold.
    private func mayEvictHeld(_ task: DownloadTask) -> Bool {
        environment.configuration.storage.restoration == .everything && environment.space.holds(task.id)
            && services.store.lackOfSpace == nil
    }

    /// Whether a download may leave memory. Includes downloads with the state `queued` that are in memory only because
    /// their rows were read: another process runs them, or nothing has put them in the queue of this process.
    func isAtRest(_ task: DownloadTask) -> Bool {
        task.isAtRest
            || task.machine.state == .queued && !task.hasOpenWork && catalog.pendingAdditions == 0
                && !queue.waits(task.id) && !queue.runs(task.id)
    }
}
