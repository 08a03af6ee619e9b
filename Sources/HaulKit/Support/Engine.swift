/// Connects the parts of one downloader. Each part owns its state. The engine forwards calls of the tasks to the parts.
///
/// Confined to the actor of its downloader.
final class Engine {
    let environment: TaskEnvironment
    let catalog: DownloadCatalog
    let scheduler: Scheduler
    let speed: SpeedControl
    let reader: CatalogReader
    let files: FinishedFiles
    let idle: IdleMonitor
    let broker: ConnectionBroker
    let waitingReaders: WaitingReaders
    private let holds: SpaceHolds
    private let batcher: SmallFileBatcher
    private let ticker: ProgressTicker

    init(_ environment: TaskEnvironment, _ queue: DownloadQueue, position: Int64, seed: UInt64) {
        self.environment = environment
        let (configuration, services) = (environment.configuration, environment.services)
        speed = SpeedControl(configuration.network.bytesPerSecond, time: services.time)
        catalog = DownloadCatalog(environment, TaskFactory(environment, speed, seed: seed), position: position)
        scheduler = Scheduler(environment, catalog, environment.notifications.idle, speed, queue)
        reader = CatalogReader(environment, scheduler)
        files = FinishedFiles(services, reader)
        idle = IdleMonitor(environment, scheduler, reader)
        broker = ConnectionBroker(environment, scheduler)
        waitingReaders = WaitingReaders(now: services.time.date())
        holds = SpaceHolds(environment, scheduler, files)
        batcher = SmallFileBatcher(environment, scheduler)
        ticker = ProgressTicker(environment, scheduler, holds)
        environment.delegate = self
        environment.notifications.idle.delegate = idle
    }

    /// Starts to watch the connections, the network and the timetable. The downloader must be attached before.
    func start() {
        broker.listen()
        holds.watchStore()
        scheduler.watchConditions()
    }

    /// Stops the ticker, the scheduler and the monitors.
    func stop() {
        ticker.stop()
        scheduler.stop()
        scheduler.records.stop()
        environment.conditions.stop()
        environment.space.stopPolling()
    }
}

extension Engine: DownloadTaskDelegate {
    func taskDidAct(_ task: DownloadTask) { scheduler.startQueuedDownloads() }

    func taskDidEndStep(_ task: DownloadTask) {
        scheduler.evict(task)
        idle.tellHooksWhenIdle()
    }

    func taskIsQueued(_ task: DownloadTask) -> Bool {
        if scheduler.queue.runs(task.id) { return true }
        scheduler.queue.enqueue(task.queueItem)
        return false
    }

    func taskBacksOff(_ task: DownloadTask, for wait: Duration) { scheduler.backsOff(task, for: wait) }
    func taskHasBackedOff(_ task: DownloadTask) -> Bool { scheduler.hasBackedOff(task) }
    func taskLeavesQueue(_ task: DownloadTask) { scheduler.queue.leave(task.id) }
    func taskWaitsForSpace(_ task: DownloadTask) { holds.startPolling() }
    func taskStartsBody(_ task: DownloadTask) { ticker.start() }

    func task(
        _ task: DownloadTask,
        asksForSlotOf host: Origin,
        for id: DownloadMachine.ConnectionID,
        _ request: RangeRequest
    ) -> SlotAnswer {
        broker.takeSlot(host, task, for: id, request)
    }

    var segmentSlots: StreamSlots { broker.segmentSlots }
    func taskPublishesWithOthers(_ task: DownloadTask) -> Bool { batcher.publish(task) }
    var writeBatchBytes: Int { broker.writeBatchBytes }
}
