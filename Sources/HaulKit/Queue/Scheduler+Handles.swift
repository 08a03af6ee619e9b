internal import Logging

/// Reports to handles and listeners about downloads that are not in memory.
extension Scheduler {
    /// Returns the snapshot of a stored row. Adds the hold reason if the download waits in this process; otherwise
    /// another process may run it.
    func stored(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        queue.waits(snapshot.id) ? environment.withReason(snapshot, host) : snapshot
    }

    /// Removes from the queue a download that another process of the store has ended or removed. Reports the outcome to
    /// the download's handle.
    ///
    /// - Parameter task: the task of an ended download; `nil` for a removed download.
    func endedElsewhere(_ id: DownloadID, _ task: DownloadTask?) {
        queue.leave(id)
        guard let hub = environment.notifications.hubs.existing(id), hub.outcome == nil else { return }
        if let task {
            hub.changed(task.present(), outcome: DownloadOutcome(id, task.record))
        } else {
            hub.changed(hub.snapshot.atRest(.cancelled), outcome: .cancelled)
        }
        idle.look()
    }

    /// Removes from the queue a download whose row cannot be read when its turn comes. The row stays unchanged for the
    /// next start of the downloader.
    func cannotBeRead(_ id: DownloadID, _ error: DownloadError) {
        environment.services.logger.debug("store: \(error)")
        queue.leave(id)
        // The shut-down reports the end itself.
        guard error.code != .shutDown, let hub = environment.notifications.hubs.existing(id), hub.outcome == nil
        else { return }
        hub.changed(hub.snapshot.atRest(.failed), outcome: .failed(error))
        idle.look()
    }

    /// Reports a new state to the handles of downloads that are not in memory.
    ///
    /// - Parameters:
    ///   - ids: downloads that may have handles.
    ///   - count: number of all downloads with the new state.
    ///   - groups: number of these downloads in each observed group.
    func tellHolders(
        of ids: [DownloadID],
        count: Int,
        _ state: DownloadSnapshot.State,
        in groups: [DownloadStore.GroupShare]
    ) {
        let notifications = environment.notifications
        notifications.announceTogether(state, count: count, in: groups)
        for id in ids where catalog.tasks[id] == nil {
            guard let hub = notifications.hubs.existing(id) else { continue }
            let snapshot = hub.snapshot.atRest(state)
            hub.changed(stored(snapshot, snapshot.host), outcome: state == .cancelled ? .cancelled : nil)
        }
        idle.look()
    }
}
