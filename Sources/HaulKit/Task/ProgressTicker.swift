/// Looks at the running transfers periodically while there are any. One ticker serves all downloads.
///
/// Confined to the actor of its downloader.
final class ProgressTicker {
    private let environment: TaskEnvironment
    private let scheduler: Scheduler
    private let holds: SpaceHolds
    private var look = 0
    private var timer: Task<Void, Never>?

    private static let looksPerMark = 4
    /// Number of calls of ``tick()`` for each note in the store. The store gets notes more often than the listeners get
    /// reports.
    ///
    /// A SIGKILL can cost a byte until three waits are over: the flush of the sink (50 ms at most), the wait for the
    /// next note (half a progress interval), and the write of the store. Their sum must stay within 250 ms.
    private static let looksPerNote = 2

    init(_ environment: TaskEnvironment, _ scheduler: Scheduler, _ holds: SpaceHolds) {
        self.environment = environment
        self.scheduler = scheduler
        self.holds = holds
    }

    deinit { timer?.cancel() }

    func start() {
        if timer == nil {
            look = 0
            wait()
        }
    }

    func stop() { timer?.cancel() }

    private func wait() {
        let interval = environment.configuration.storage.progressInterval / Self.looksPerMark
        timer = environment.spawner.start(self, after: interval, environment.services.time.tick) { ticker, _ in
            ticker.look += 1
            if ticker.tick() { ticker.wait() } else { ticker.timer = nil }
        }
    }

    /// Looks at all running transfers. Each look passes the received ranges of a download with connections
    /// (``DownloadMachine/hasIssuedConnections``) to its machine, so that the machine soon recognizes a slow
    /// connection. Notes in the store and progress reports come less often: see ``looksPerNote`` and ``looksPerMark``.
    ///
    /// - Returns: `false` when no transfer is running any more.
    private func tick() -> Bool {
        let isMark = look % Self.looksPerMark == 0
        var isAnyActive = false
        for id in scheduler.queue.running {
            guard let task = scheduler.catalog.tasks[id], task.isTransferring else { continue }
            isAnyActive = true
            if isMark {
                task.recordProgress()
            } else {
                task.look(notesProgress: look % Self.looksPerNote == 0)
            }
        }
        if isMark { holds.watchGrowth() }
        return isAnyActive
    }
}
