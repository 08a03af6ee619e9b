internal import Foundation
internal import Logging

/// Slots: which download gets a free one, and when it may run at all. The rows of the next downloads are read into memory before
/// their turn comes.
///
/// Confined to the actor of its downloader.
final class Scheduler {
    /// Number of waiting downloads that are read from the store at a time.
    static let readTogether = 256
    /// Number of downloads that are in memory before they get their slots.
    private static let readAhead = 64
    /// Longest wait before another attempt for which a download keeps its slot. Another download makes little of a shorter time: it
    /// has to find the host and open a connection first, and the one that waits may have to stand behind it afterwards.
    private static let longestWaitWithSlot = Duration.seconds(2)

    let environment: TaskEnvironment
    let catalog: DownloadCatalog
    let idle: IdleWatch
    let speed: SpeedControl
    let records: RecordKeeper
    var queue: DownloadQueue
    private var timer: (at: Instant, task: Task<Void, Never>)?
    /// The next rows of the queue are being read.
    private var isReadingAhead = false
    /// How many times what waits in the store is being taken into the queue.
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

    /// Not all that waits has its place in the queue yet.
    var isFilling: Bool { fills > 0 }
    /// The tasks that have a slot.
    var running: [DownloadTask] { queue.running.compactMap { tasks[$0] } }
    /// Those, and the tasks that back off without one.
    var runningOrBackingOff: [DownloadTask] { running + queue.allBackingOff.compactMap { tasks[$0] } }

    // MARK: Slots

    /// Never lets a free slot and a waiting download stand side by side.
    func startQueuedDownloads() {
        guard !environment.isShuttingDown else { return }
        let now = services.time.now()
        let (granted, withdrawn) = queue.grant(at: now)
        for id in withdrawn { tasks[id]?.send(.slotWithdrawn) }
        for id in granted {
            if let task = tasks[id] { task.start() } else { beginLoading(id) }
        }
        grantsSinceReading += granted.count
        if grantsSinceReading >= Self.readAhead / 2 { readAhead() }
        wake(at: queue.nextGrant(after: now), now)
        environment.metrics.lines(
            running: queue.running.count,
            waiting: queue.waitingCount,
            backingOff: queue.allBackingOff.count
        )
        idle.changed()
    }

    /// The task waits before its next attempt. If that is for long, its slot is the next download's; the caller hands it out.
    func backsOff(_ task: DownloadTask, for wait: Duration) {
        if wait > Self.longestWaitWithSlot { queue.backOff(task.id) }
    }

    /// The wait of the task is over: where it has left its slot, it takes its place in the queue again.
    ///
    /// - Returns: whether it has a slot.
    func hasBackedOff(_ task: DownloadTask) -> Bool {
        if queue.runs(task.id) { return true }
        queue.enqueue(task.queueItem)
        startQueuedDownloads()
        return queue.runs(task.id)
    }

    /// Asks again when a host has had its pause.
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

    /// A download got a slot whose row has not been read.
    private func beginLoading(_ id: DownloadID) {
        environment.spawner.start(self) { scheduler, _ in await scheduler.loadAndStart(id) }
    }

    private func loadAndStart(_ id: DownloadID, isolation: isolated (any Actor)? = #isolation) async {
        let found = await load(id)
        guard queue.runs(id) else {
            // Its slot is gone, as when it was paused meanwhile.
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

    /// Reads the next ones of the queue before their turn comes.
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
                // One that was ended elsewhere is seen when it gets its slot.
                if saved.record.status == .queued { catalog.takeIn(saved) }
            }
        } catch { services.logger.debug("store: \(error)") }
        isReadingAhead = false
    }

    /// Gives a download that was just stored its place in the queue; in memory are only those whose turn comes soon.
    func enqueue(_ record: DownloadRecord) {
        guard let id = DownloadID(record.id) else { return }
        if queue.waitingCount < Self.readTogether { catalog.insert(catalog.factory.task(id, record)) }
        queue.enqueue(
            .init(id: id, host: record.host ?? "", priority: record.request.priority, position: record.position)
        )
    }

    /// None of these downloads waits or runs any more.
    func leave(_ ids: [DownloadID]) {
        // To send home each of a hundred thousand takes as long as to tell the store; to send home all of them takes nothing.
        if ids.count >= queue.waitingCount, ids.count(where: { queue.waits($0) }) == queue.waitingCount {
            queue.removeAllWaiting()
        }
        for id in ids { queue.leave(id) }
    }

    /// Of those that wait, only the ones in memory wait any longer. Only where no other process has the store: it would have rows that
    /// wait here and that nothing can be said of.
    func leaveAllOutOfMemory() {
        let inMemory = tasks.values.filter { queue.waits($0.id) }
        queue.removeAllWaiting()
        for task in inMemory { queue.enqueue(task.queueItem) }
    }

    // MARK: Out of memory

    /// A download that has come to rest is the store's alone; who has a handle of it keeps what was last said of it.
    func evict(_ task: DownloadTask) {
        defer { idle.look() }
        // One that waits for something to end will go on by itself; of those that wait for disk space there may be thousands, and
        // the wait list knows them.
        guard isAtRest(task), task.record.hold == nil || mayEvictHeld(task) else { return }
        // Its row, which may be another process's by now, does not say that it is paused: nothing would resume it, or it would go on.
        if task.machine.state == .paused, !task.ownsRecord || task.isPauseUnrecorded || services.store.hasMetOthers {
            return
        }
        catalog.remove(task)
        if case .completed = task.machine.state { records.noteEnd() }
    }

    /// A held download may leave the memory where no other process can take up its row.
    private func mayEvictHeld(_ task: DownloadTask) -> Bool {
        environment.configuration.storage.restoration == .everything && environment.space.holds(task.id)
    }

    /// The same for downloads that are in memory only because somebody looked at them: another process runs them, or they wait to be
    /// asked for.
    func isAtRest(_ task: DownloadTask) -> Bool {
        task.isAtRest
            || task.machine.state == .queued && !task.hasOpenWork && catalog.pendingAdditions == 0
                && !queue.waits(task.id) && !queue.runs(task.id)
    }
}
