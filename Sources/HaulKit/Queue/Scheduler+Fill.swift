internal import Foundation
internal import Logging

/// Takes waiting downloads from the store into the queue.
extension Scheduler {
    struct FillSizes {
        /// Number of waiting downloads that are read before `fill` returns.
        var first = 16_384
        /// Number of waiting downloads that are read at a time in the background.
        var page = 8192
    }

    /// Time before the store is asked again after an error.
    private static let retryDelay = Duration.seconds(1)

    /// Puts the waiting downloads of the store in the queue. The caller has the catalog's lock.
    ///
    /// If there are many, this method enqueues only the first ones in the order of the queue. A background task reads
    /// the others; until then nothing counts as idle. The task reads them in the order of their rows, so a host may
    /// start with a later one of its downloads.
    func fill(_ condition: StoreCondition, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        let store = services.store
        // Reading in the order of the queue also visits rows that do not wait, so it is used only if many rows wait.
        guard !condition.namesRows,
            let waiting = try await store.waitingCount(condition, above: fillSizes.first)
        else {
            for item in try await store.queueItems(condition) { enqueue(item) }
            return
        }
        queue.reserve(waiting)
        for item in try await store.firstWaiting(condition, limit: fillSizes.first) { enqueue(item) }
        fills += 1
        environment.spawner.start(self) { scheduler, _ in await scheduler.fillRest(condition) }
    }

    private func fillRest(_ condition: StoreCondition, isolation: isolated (any Actor)? = #isolation) async {
        var last: Int64? = .min
        while let row = last, !environment.isShuttingDown {
            do throws(DownloadError) {
                try await catalog.lock()
                defer { catalog.unlock() }
                let page = try await services.store.waiting(condition, after: row, limit: fillSizes.page)
                for item in page.items { enqueue(item) }
                last = page.last
            } catch  where error.code != .shutDown {
                services.logger.debug("store: \(error)")
                // The sleep ends early only by cancellation.
                try? await services.time.sleep(Self.retryDelay)
            } catch { break }
        }
        fills -= 1
        startQueuedDownloads()
    }

    /// Enqueues an item. Skips the item of a download that is in memory and not in the state `queued`: its task
    /// enqueues the download when needed.
    private func enqueue(_ item: DownloadQueue.Item) {
        if let task = catalog.tasks[item.id], task.machine.state != .queued { return }
        queue.enqueue(item)
    }
}
