internal import DequeModule
internal import Foundation
internal import Logging

/// Which downloads are in memory: those that run, the next ones of the queue, and nobody else. All others are rows of the store,
/// and a place in the queue if they wait.
extension Downloader {
    /// Waiting downloads are read so many at a time.
    static let readTogether = 256
    /// The next so many are in memory before they get their slots.
    private static let readAhead = 64

    /// How many are in memory.
    var loadedCount: Int { tasks.count }

    // MARK: One change at a time

    /// Changes of which downloads there are, and of rows that are not in memory, are made one after another; none is begun
    /// once the downloader shuts down.
    func withCatalogLock<Value>(
        _ change: (isolated Downloader) async throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        try checkIsOpen()
        if isRosterChanging {
            await withCheckedContinuation { rosterWaiters.append($0) }
        } else {
            isRosterChanging = true
        }
        defer {
            if let next = rosterWaiters.popFirst() { next.resume() } else { isRosterChanging = false }
        }
        try checkIsOpen()
        return try await change(self)
    }

    // MARK: Into memory

    /// Puts a stored download into memory, if it is not there.
    @discardableResult
    func takeIn(_ saved: DownloadStore.Saved) -> DownloadTask? {
        guard let id = DownloadID(saved.record.id) else { return nil }
        if let task = tasks[id] { return task }
        guard let request = saved.record.request else { return nil }
        let task = task(saved, id, request)
        tasks[id] = task
        return task
    }

    /// The download of this id, in memory from now on; nil when there is none.
    func load(_ id: DownloadID) async throws(DownloadError) -> DownloadTask? {
        if let task = tasks[id] { return task }
        let saved = try await store.find(id: id.description)
        try checkIsOpen()
        return saved.flatMap { takeIn($0) }
    }

    /// A download got a slot whose row has not been read.
    private func wakeAndStart(_ id: DownloadID) {
        Task {
            var task: DownloadTask?
            do throws(DownloadError) {
                task = try await withCatalogLock { downloader throws(DownloadError) in try await downloader.load(id) }
            } catch { logger.debug("store: \(error)") }
            guard queue.runs(id) else {
                // Its slot is gone, as when it was paused meanwhile.
                if let task { evict(task) }
                return
            }
            guard let task, task.machine.state == .queued else {
                if task == nil || task?.isAtRest == true { queue.leave(id) }
                if let task { evict(task) }
                startQueuedDownloads()
                return
            }
            start(task)
        }
    }

    func start(_ task: DownloadTask) {
        task.machine.learn(knownLimit: hostLimits[Origin(task.machine.settings.url)])
        learnLinkExpiry(task)
        metrics.start()
        send(.slotGranted, to: task)
    }

    /// Reads the next ones of the queue before their turn comes.
    private func readAhead() {
        grantsSinceReading = 0
        guard !isReadingAhead, !isShuttingDown else { return }
        let next = queue.next(Self.readTogether).filter { tasks[$0] == nil }
        guard next.count > Self.readTogether - Self.readAhead || next.count == queue.waitingCount, !next.isEmpty else {
            return
        }
        isReadingAhead = true
        Task {
            do throws(DownloadError) {
                try await withCatalogLock { downloader throws(DownloadError) in
                    for saved in try await downloader.store.find(ids: next) {
                        guard let id = DownloadID(saved.record.id), downloader.queue.waits(id) else { continue }
                        downloader.takeIn(saved)
                    }
                }
            } catch { logger.debug("store: \(error)") }
            isReadingAhead = false
        }
    }

    // MARK: Out of memory

    /// A download that has come to rest is the store's alone; who has a handle of it keeps what was last said of it.
    func evict(_ task: DownloadTask) {
        defer { lookWhoIsIdle() }
        // One that waits for something to end will go on by itself; of those that wait for room there may be thousands, and
        // the watch knows them.
        guard isAtRest(task), task.record.hold == nil || mayEvictHeld(task), tasks[task.id] === task else {
            return
        }
        tasks[task.id] = nil
    }

    /// The same for downloads that are in memory only because somebody looked at them: another process runs them, or they wait to be
    /// asked for.
    func isAtRest(_ task: DownloadTask) -> Bool {
        task.isAtRest
            || task.machine.state == .queued && !task.hasOpenWork && pendingAdditions == 0
                && !queue.waits(task.id) && !queue.runs(task.id)
    }

    // MARK: Slots

    /// Never lets a free slot and a waiting download stand side by side.
    func startQueuedDownloads() {
        guard !isShuttingDown else { return }
        let now = time.now()
        let (granted, withdrawn) = queue.grant(at: now)
        for id in withdrawn {
            if let task = tasks[id] { send(.slotWithdrawn, to: task) }
        }
        for id in granted {
            if let task = tasks[id] { start(task) } else { wakeAndStart(id) }
        }
        grantsSinceReading += granted.count
        if grantsSinceReading >= Self.readAhead / 2 { readAhead() }
        wakeQueue(at: queue.nextGrant(after: now), now)
        metrics.lines(running: queue.running.count, waiting: queue.waitingCount)
        noteIdle()
    }

    /// Asks again when a host has had its pause.
    private func wakeQueue(at next: Instant?, _ now: Instant) {
        guard let next else { return }
        if let queueTimer, queueTimer.at <= next { return }
        queueTimer?.task.cancel()
        let sleep = time.sleep
        queueTimer = (
            next,
            Task { [weak self] in
                // Ends early only by cancellation, and then another one has been set.
                guard (try? await sleep(max(next - now, .milliseconds(1)))) != nil else { return }
                await self?.queueTimerFired()
            }
        )
    }

    private func queueTimerFired() {
        queueTimer = nil
        startQueuedDownloads()
    }
}
