internal import Foundation
internal import Logging

/// Slots: which download gets a free one. The rows of the next downloads are read into memory before.
extension Downloader {
    /// Number of waiting downloads that are read from the store at a time.
    static let readTogether = 256
    /// Number of downloads that are in memory before they get their slots.
    private static let readAhead = 64

    /// Never lets a free slot and a waiting download stand side by side.
    func startQueuedDownloads() {
        guard !isShuttingDown else { return }
        let now = time.now()
        let (granted, withdrawn) = queue.grant(at: now)
        for id in withdrawn {
            if let task = tasks[id] { send(.slotWithdrawn, to: task) }
        }
        for id in granted {
            if let task = tasks[id] { start(task) } else { loadAndStart(id) }
        }
        catalog.grantsSinceReading += granted.count
        if catalog.grantsSinceReading >= Self.readAhead / 2 { readAhead() }
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

    /// A download got a slot whose row has not been read.
    private func loadAndStart(_ id: DownloadID) {
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
        task.machine.learn(knownLimit: pool.learnedLimit(of: Origin(task.machine.settings.url)))
        learnLinkExpiry(task)
        metrics.start()
        send(.slotGranted, to: task)
    }

    /// Reads the next ones of the queue before their turn comes.
    private func readAhead() {
        catalog.grantsSinceReading = 0
        guard !catalog.isReadingAhead, !isShuttingDown else { return }
        let next = queue.next(Self.readTogether).filter { tasks[$0] == nil }
        guard next.count > Self.readTogether - Self.readAhead || next.count == queue.waitingCount, !next.isEmpty else {
            return
        }
        catalog.isReadingAhead = true
        Task {
            do throws(DownloadError) {
                try await withCatalogLock { downloader throws(DownloadError) in
                    for saved in try await downloader.store.find(ids: next) {
                        guard let id = DownloadID(saved.record.id), downloader.queue.waits(id) else { continue }
                        downloader.takeIn(saved)
                    }
                }
            } catch { logger.debug("store: \(error)") }
            catalog.isReadingAhead = false
        }
    }
}
