/// What all tasks of one downloader act through.
///
/// Confined to the actor of its downloader.
final class TaskEnvironment {
    /// The present settings; ``Engine/apply(_:)`` changes them.
    var configuration: Downloader.Configuration { didSet { revision += 1 } }
    /// Grows with each change of ``configuration``.
    private(set) var revision = 0
    let services: EngineServices
    let spawner: ActorSpawner
    let space: SpaceMonitor
    let pool: ConnectionPool
    let conditions: RunConditionMonitor
    let notifications: Notifications
    let metrics: DownloaderMetrics
    /// The parts above the tasks.
    weak var delegate: (any DownloadTaskDelegate)?
    /// Set once the downloader shuts down.
    var isShuttingDown = false
    /// Ends the reading of whole files once the shutdown has begun.
    let isStopping = CancelFlag()

    init(
        _ configuration: Downloader.Configuration,
        _ services: EngineServices,
        _ spawner: ActorSpawner,
        _ space: SpaceMonitor,
        _ pool: ConnectionPool,
        _ conditions: RunConditionMonitor,
        _ notifications: Notifications,
        _ metrics: DownloaderMetrics
    ) {
        self.configuration = configuration
        self.services = services
        self.spawner = spawner
        self.space = space
        self.pool = pool
        self.conditions = conditions
        self.notifications = notifications
        self.metrics = metrics
    }

    /// Called first by every public call: after the shutdown another downloader may own the store.
    func checkIsOpen() throws(DownloadError) {
        if isShuttingDown { throw .isShutDown }
    }

    /// The same snapshot, with the reason why a queued download cannot start.
    func withReason(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        guard snapshot.state == .queued else { return snapshot }
        var snapshot = snapshot
        snapshot.holdReason = conditions.conditions.reason(forHost: host ?? "")
        return snapshot
    }
}

/// What a task asks of the parts above it: slots, connections, company for small files. Every call returns at once.
protocol DownloadTaskDelegate: AnyObject {
    /// The task has acted; a slot may be free.
    func taskDidAct(_ task: DownloadTask)
    /// A step of the task has ended; it may leave the memory.
    func taskDidEndStep(_ task: DownloadTask)
    /// The task is queued: it keeps its slot if it has one, and waits for one otherwise.
    ///
    /// - Returns: whether it has a slot.
    func taskIsQueued(_ task: DownloadTask) -> Bool
    /// The task waits before its next attempt: another may get its slot meanwhile.
    func taskBacksOff(_ task: DownloadTask, for wait: Duration)
    /// The wait before the next attempt is over.
    ///
    /// - Returns: whether the task has a slot; without one it is in the queue.
    func taskHasBackedOff(_ task: DownloadTask) -> Bool
    /// The task neither waits nor runs any more.
    func taskLeavesQueue(_ task: DownloadTask)
    /// The task is paused until the disk has space.
    func taskWaitsForSpace(_ task: DownloadTask)
    /// Bytes are about to arrive.
    func taskStartsBody(_ task: DownloadTask)
    /// Opens a connection when its host may have one; the task is told by ``DownloadTask/connect(_:_:_:)`` or by an event.
    func task(_ task: DownloadTask, opens id: DownloadMachine.ConnectionID, _ request: RangeRequest)
    /// Publishes a small file that is complete together with others.
    ///
    /// - Returns: false when the file must be published alone.
    func taskPublishesWithOthers(_ task: DownloadTask) -> Bool
    /// Bytes that one write of a body may gather, with the present number of open connections.
    var writeBatchBytes: Int { get }
}

extension DownloadError {
    static let isShutDown = DownloadError(.shutDown, "The downloader has been shut down.")
}
