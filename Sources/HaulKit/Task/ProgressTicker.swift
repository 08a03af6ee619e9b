/// Looks at the running transfers, for as long as there are any: one ticker for all downloads.
///
/// Confined to the actor of its downloader.
final class ProgressTicker {
    private let environment: TaskEnvironment
    private let scheduler: Scheduler
    private let holds: SpaceHolds
    private var look = 0
    private var timer: Task<Void, Never>?

    private static let looksPerMark = 4
    /// The store is told more often than the listeners. From the arrival of a byte until a SIGKILL cannot cost it any more,
    /// three waits add up: for the sink's flush (50 ms at most), for the store to be told (half a mark interval), and for
    /// the store to write. Together they must stay within a quarter of a second.
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

    /// At every look those that share a file among connections are looked at: what a slow connection costs grows with the
    /// time that it is left alone. Everything else waits for a note or a mark.
    ///
    /// - Returns: false when nothing is transferred any more.
    private func tick() -> Bool {
        let isMark = look % Self.looksPerMark == 0
        var isAnyActive = false
        for id in scheduler.queue.running {
            guard let task = scheduler.catalog.tasks[id], task.machine.isTransferring else { continue }
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
