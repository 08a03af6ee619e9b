/// Changes many rows at once, of downloads that are not in memory.
extension DownloadStore {
    /// Pauses the matching downloads and ends their holds, so that none waits for disk space any more.
    ///
    /// - Returns: the number of matching downloads.
    func pause(_ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await change("status = 'paused', hold = NULL, error = NULL", condition)
    }

    /// Queues the matching downloads again and clears hold, error and end date.
    ///
    /// - Returns: the number of matching downloads.
    func requeue(_ condition: StoreCondition) async throws(DownloadError) -> Int {
        try await change("status = 'queued', hold = NULL, error = NULL, finishedAt = NULL", condition)
    }

    /// Queues again those of `ids` that wait for disk space. Includes queued rows, because on a full disk the store may
    /// have missed the hold.
    func endHolds(of ids: [DownloadID]) async throws(DownloadError) {
        try await change("status = 'queued', hold = NULL, error = NULL", .ids(ids).onlyQueuedOrHeld())
    }

    /// Queues all held downloads again.
    func endAllHolds() async throws(DownloadError) {
        var held = StoreCondition()
        held.add("status = 'paused' AND hold IS NOT NULL")
        try await change("status = 'queued', hold = NULL, error = NULL", held)
    }

    /// Pauses all queued downloads.
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

    /// Selects downloads that have a partial file.
    func onlyBegun() -> Self { adding("partPath IS NOT NULL") }

    /// Selects downloads that no other user of the store owns.
    func onlyFree(for owner: StoreOwner) -> Self { adding("(ownerNumber IS NULL OR ownerNumber = \(owner.number))") }

    private func adding(_ more: String) -> Self {
        var condition = self
        condition.add(more)
        return condition
    }
}
