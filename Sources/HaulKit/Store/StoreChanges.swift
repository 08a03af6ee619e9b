/// Changes of many rows at once, of downloads that are not in memory.
extension DownloadStore {
    /// Pauses them; none of them waits for disk space any more.
    ///
    /// - Returns: how many there were.
    func pause(_ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await change("status = 'paused', hold = NULL, error = NULL", condition)
    }

    /// Queues them again, as if nothing had stopped them.
    ///
    /// - Returns: how many there were.
    func requeue(_ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await change("status = 'queued', hold = NULL, error = NULL, finishedAt = NULL", condition)
    }

    /// Queues again those of them that wait for disk space. On a full disk the store may not have been told that they do.
    func endHolds(of ids: [DownloadID]) async throws(DownloadError) {
        try await change("status = 'queued', hold = NULL, error = NULL", .ids(ids).onlyQueuedOrHeld())
    }

    /// Queues again everything that waited for something to end.
    func endAllHolds() async throws(DownloadError) {
        var held = StoreCondition()
        held.add("status = 'paused' AND hold IS NOT NULL")
        try await change("status = 'queued', hold = NULL, error = NULL", held)
    }

    /// Pauses everything that is queued.
    func pauseAllQueued() async throws(DownloadError) {
        try await change("status = 'paused'", StoreCondition().only([.queued]))
    }

    func setPriority(_ priority: Int, of ids: [DownloadID]) async throws(DownloadError) {
        try await change("priority = \(priority)", .ids(ids))
    }
}

extension StoreCondition {
    func onlyQueuedOrHeld() -> Self { adding("(status = 'queued' OR hold IS NOT NULL)") }

    func only(_ statuses: Set<DownloadRecord.Status>) -> Self {
        adding("status IN (\(statuses.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))")
    }

    func onlyUnfinished() -> Self { adding("status <> 'completed'") }

    /// Those that have a partial file.
    func onlyBegun() -> Self { adding("partPath IS NOT NULL") }

    /// Those that no other user of the store has.
    func onlyFree(for owner: StoreOwner) -> Self { adding("(ownerNumber IS NULL OR ownerNumber = \(owner.number))") }

    private func adding(_ more: String) -> Self {
        var condition = self
        condition.add(more)
        return condition
    }
}
