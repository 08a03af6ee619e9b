internal import Logging

/// What handles and listeners hear of downloads that are not in memory.
extension Scheduler {
    /// The snapshot of a stored row; another process may run the download.
    func stored(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        queue.waits(snapshot.id) ? environment.withReason(snapshot, host) : snapshot
    }

    /// A download that waited here was ended by another process that has the store, or removed (nil): it waits no longer, and who
    /// has a handle hears how.
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

    /// The store does not give the row of a download whose turn it is. The row stays as it is, for the next start.
    func cannotBeRead(_ id: DownloadID, _ error: DownloadError) {
        environment.services.logger.debug("store: \(error)")
        queue.leave(id)
        // The end of everything has told its own.
        guard error.code != .shutDown, let hub = environment.notifications.hubs.existing(id), hub.outcome == nil
        else { return }
        hub.changed(hub.snapshot.atRest(.failed), outcome: .failed(error))
        idle.look()
    }

    /// Tells the handles of downloads that are not in memory what has become of them.
    ///
    /// - Parameters:
    ///   - ids: those that may have handles.
    ///   - count: how many there are in all.
    ///   - groups: how many of them belong to the groups that are listened to.
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
