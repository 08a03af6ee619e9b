/// Looks at the running transfers periodically while there are any. One ticker serves all downloads.
///
/// Confined to the actor of its downloader.
final class ProgressTicker {
    private let environment: TaskEnvironment
    private let scheduler: Scheduler
    private let holds: SpaceHolds
    /// Number of calls of ``tick()``.
    private var ticks = 0
    private var timer: Task<Void, Never>?

    /// Number of looks at the transfers for each progress report.
    private static let looksPerMark = 4
    /// Number of running downloads up to which the ranges are noted between two looks too.
    private static let few = 8

    /// Number of calls of ``tick()`` for each look. Each call notes the ranges in the store.
    ///
    /// A SIGKILL can cost a byte until three waits are over: the flush of the sink (25 ms at most), the wait for the
    /// next note (an eighth of a progress interval, or a quarter where many downloads run), and the write of the store.
    /// Their sum must stay within 250 ms, and what arrives within it is received a second time after each SIGKILL.
    private var notesPerLook: Int { scheduler.queue.running.count > Self.few ? 1 : 2 }

    init(_ environment: TaskEnvironment, _ scheduler: Scheduler, _ holds: SpaceHolds) {
        self.environment = environment
        self.scheduler = scheduler
        self.holds = holds
    }

    deinit { timer?.cancel() }

    func start() {
        if timer == nil {
            ticks = 0
            wait()
        }
    }

    func stop() { timer?.cancel() }

    private func wait() {
        let interval = environment.configuration.storage.progressInterval / (Self.looksPerMark * notesPerLook)
        timer = environment.spawner.start(self, after: interval, environment.services.time.tick) { ticker, _ in
            ticker.ticks += 1
            if ticker.tick() { ticker.wait() } else { ticker.timer = nil }
        }
    }

    /// Notes the received ranges of all running transfers in the store. A look also passes those of a download with
    /// connections (``DownloadMachine/hasIssuedConnections``) to its machine, so that the machine soon recognizes a slow
    /// connection. Progress reports come less often: see ``looksPerMark``.
    ///
    /// - Returns: `false` when no transfer is running any more.
    private func tick() -> Bool {
        let isLook = ticks % notesPerLook == 0
        let isMark = ticks % (Self.looksPerMark * notesPerLook) == 0
        var isAnyActive = false
        for id in scheduler.queue.running {
            guard let task = scheduler.catalog.tasks[id], task.isTransferring else { continue }
            isAnyActive = true
            if isMark {
                task.recordProgress()
            } else if isLook {
                task.look()
            } else {
                task.noteRanges()
            }
        }
        if isMark { holds.watchGrowth() }
        return isAnyActive
    }
}
