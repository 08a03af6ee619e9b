internal import Foundation
internal import Logging

/// Taking what waits in the store into the queue.
extension Scheduler {
    struct FillSizes {
        /// Number of waiting downloads that are read before the caller goes on.
        var first = 16_384
        /// Number of waiting downloads that are read at a time after that.
        var page = 8192
    }

    /// The time until the store is asked again that could not be read.
    private static let retryDelay = Duration.seconds(1)

    /// Gives what waits in the store its place in the queue; the caller has the catalog's lock. Of a large number only the first, in
    /// the order of the queue, have their places when this returns; the others follow. Until then nothing counts as idle, and
    /// a host whose first downloads are among those that follow may begin with another one of its own.
    func fill(_ condition: StoreCondition, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        let store = services.store
        // To go along the order of the queue takes a look at each row on the way, whether it waits or not.
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
                // Sleeping ends early only by cancellation.
                try? await services.time.sleep(Self.retryDelay)
            } catch { break }
        }
        fills -= 1
        startQueuedDownloads()
    }

    /// One in memory that does anything but wait takes care of itself.
    private func enqueue(_ item: DownloadQueue.Item) {
        if let task = catalog.tasks[item.id], task.machine.state != .queued { return }
        queue.enqueue(item)
    }
}
