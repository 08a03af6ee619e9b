/// What handles and listeners hear of downloads that are not in memory.
extension Scheduler {
    /// The snapshot of a stored row; another process may run the download.
    func stored(_ snapshot: DownloadSnapshot, _ host: String?) -> DownloadSnapshot {
        queue.waits(snapshot.id) ? environment.withReason(snapshot, host) : snapshot
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
