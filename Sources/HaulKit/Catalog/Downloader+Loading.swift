internal import Foundation
internal import Logging

/// Downloads in memory: those that run, and the next ones of the queue. All others are rows of the store, and a place in the queue
/// if they wait.
extension Downloader {
    /// How many are in memory.
    var loadedCount: Int { tasks.count }

    // MARK: One change at a time

    /// Changes of which downloads there are, and of rows that are not in memory, are made one after another; none is begun
    /// once the downloader shuts down.
    func withCatalogLock<Value>(
        _ change: (isolated Downloader) async throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        try checkIsOpen()
        await catalog.lock()
        defer { catalog.unlock() }
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
            || task.machine.state == .queued && !task.hasOpenWork && catalog.pendingAdditions == 0
                && !queue.waits(task.id) && !queue.runs(task.id)
    }
}
