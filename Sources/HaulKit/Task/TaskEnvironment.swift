/// Settings and services that all tasks of one downloader share.
///
/// Confined to the actor of its downloader.
final class TaskEnvironment {
    /// Current settings. ``Engine/apply(_:)`` changes them.
    var configuration: Downloader.Configuration { didSet { revision += 1 } }
    /// Number that grows with each change of ``configuration``.
    private(set) var revision = 0
    let services: EngineServices
    let spawner: ActorSpawner
    let space: SpaceMonitor
    let pool: ConnectionPool
    let conditions: RunConditionMonitor
    let notifications: Notifications
    let metrics: DownloaderMetrics
    /// The engine, which grants or performs the requests of the tasks.
    weak var delegate: (any DownloadTaskDelegate)?
    var isShuttingDown = false
    /// Flag that ends the reading of whole files once the shutdown has begun.
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

    /// Throws once the shutdown has begun, because another downloader may own the store afterwards. Every public call
    /// begins with this check.
    func checkIsOpen() throws(DownloadError) {
        if isShuttingDown { throw .isShutDown }
    }

    /// Returns the snapshot with the reason why a queued download cannot start.
    func withReason(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        guard snapshot.state == .queued else { return snapshot }
        var snapshot = snapshot
        snapshot.holdReason = conditions.conditions.reason(forHost: host ?? "")
        return snapshot
    }
}

/// Requests of a task to the engine: slots, connections and batches of small files. Every call returns at once.
protocol DownloadTaskDelegate: AnyObject {
    /// The task has performed actions, so a slot may be free.
    func taskDidAct(_ task: DownloadTask)
    /// A step of the task has ended, so the task may leave the memory.
    func taskDidEndStep(_ task: DownloadTask)
    /// The task is queued. It keeps its slot if it has one, and waits for one otherwise.
    ///
    /// - Returns: whether it has a slot.
    func taskIsQueued(_ task: DownloadTask) -> Bool
    /// The task waits before its next attempt. Another download may get its slot in the meantime.
    func taskBacksOff(_ task: DownloadTask, for wait: Duration)
    /// The wait before the next attempt is over.
    ///
    /// - Returns: whether the task has a slot. Without one it is in the queue.
    func taskHasBackedOff(_ task: DownloadTask) -> Bool
    /// The task neither waits nor runs any more.
    func taskLeavesQueue(_ task: DownloadTask)
    /// The task is held until the disk or the quota has space.
    func taskWaitsForSpace(_ task: DownloadTask)
    /// The task is about to receive bytes.
    func taskStartsBody(_ task: DownloadTask)
    /// The task opens a connection and needs a connection slot of `host` for it.
    func task(
        _ task: DownloadTask,
        asksForSlotOf host: Origin,
        for id: DownloadMachine.ConnectionID,
        _ request: RangeRequest
    ) -> SlotAnswer
    /// Connection slots for the segments of films.
    var segmentSlots: StreamSlots { get }
    /// Publishes a complete small file together with others.
    ///
    /// - Returns: `false` if the file must be published alone.
    func taskPublishesWithOthers(_ task: DownloadTask) -> Bool
    /// Most bytes of a body that one write may gather, given the number of open connections.
    var writeBatchBytes: Int { get }
}

extension DownloadError {
    static let isShutDown = DownloadError(.shutDown, "The downloader has been shut down.")
}
