internal import Logging

/// Sends the events of downloads to listeners and hooks.
///
/// Confined to the actor of its downloader.
final class Notifications {
    let hubs: HubRegistry
    let broadcast: Broadcast
    let hooks: HookRunner
    let idle: IdleWatch
    private let spawner: ActorSpawner
    private let services: EngineServices
    private var hookEvents = HookEventTracker()
    /// The task of the last report that needs a look-up in the store.
    private var telling: Task<Void, Never>?

    init(
        _ hubs: HubRegistry,
        _ broadcast: Broadcast,
        _ hooks: HookRunner,
        _ idle: IdleWatch,
        _ spawner: ActorSpawner,
        _ services: EngineServices
    ) {
        self.hubs = hubs
        self.broadcast = broadcast
        self.hooks = hooks
        self.idle = idle
        self.spawner = spawner
        self.services = services
    }

    // MARK: One download

    /// Reports bytes to the listeners of the download and of the downloader.
    func progressed(_ snapshot: DownloadSnapshot, _ hub: EventBroadcaster) {
        hub.progressed(snapshot)
        if broadcast.isHeard { broadcast.tell(.progressed(snapshot), group: snapshot.group) }
    }

    /// Reports a change of state to the listeners of the download and of the downloader.
    ///
    /// - Parameter isForgotten: whether the record of the download was deleted.
    func announce(
        _ snapshot: DownloadSnapshot,
        _ outcome: DownloadOutcome?,
        _ hub: EventBroadcaster,
        isForgotten: Bool
    ) {
        let wasUnderWay = hub.snapshot.isUnderWay
        hub.changed(snapshot, outcome: outcome)
        if broadcast.isHeard {
            broadcast.tell(.changed(snapshot), group: snapshot.group)
            if let outcome { broadcast.tell(.ended(snapshot, outcome), group: snapshot.group) }
            if isForgotten { broadcast.tell(.removed(snapshot.id, group: snapshot.group), group: snapshot.group) }
        }
        // A download that was at rest before does not end its group again.
        if wasUnderWay, !snapshot.isUnderWay { noteRest(of: snapshot.group) }
    }

    /// Reports a new name of the file. The state stays, and a run that has ended does not end again.
    func renamed(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome?, _ hub: EventBroadcaster) {
        hub.changed(snapshot, outcome: outcome)
        if broadcast.isHeard { broadcast.tell(.changed(snapshot), group: snapshot.group) }
    }

    func announceAddition(_ snapshot: @autoclosure () -> DownloadSnapshot) {
        guard broadcast.isHeard else { return }
        let snapshot = snapshot()
        broadcast.tell(.added(snapshot), group: snapshot.group)
    }

    // MARK: Many

    func announce(_ removed: RemovedRows) {
        for row in removed.listed { broadcast.tell(.removed(row.id, group: row.group), group: row.group) }
    }

    /// Counts the downloads that match a condition in each observed group. A group is observed if it has listeners, or
    /// if one of its downloads has ended and a hook wants ``HookEvent/groupEnded``.
    func listenedGroups(_ condition: StoreCondition, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
        -> [DownloadStore.GroupShare]
    {
        let groups = tellsGroupEnds ? broadcast.groups.union(hookEvents.endedGroups) : broadcast.groups
        return groups.isEmpty ? [] : try await services.store.shares(of: groups, condition)
    }

    /// Reports one change of state of many downloads.
    func announceTogether(_ state: DownloadSnapshot.State, count: Int, in groups: [DownloadStore.GroupShare]) {
        if count > 0 { broadcast.tellAlone(.changedTogether(to: state, count: count), group: nil) }
        for share in groups where share.count > 0 {
            broadcast.tellAlone(.changedTogether(to: state, count: share.count), group: share.group)
            if state != .queued, share.open > 0 { noteRest(of: share.group) }
        }
    }

    /// Notes that a download of the group has come to rest. The group may have come to rest too.
    func noteRest(of group: String?) {
        guard let group, tellsGroupEnds || broadcast.isHeard && broadcast.groups.contains(group) else { return }
        idle.groupMayRest(group)
    }

    /// Reports to the listeners of the group that none of its downloads waits or runs any more. Hooks get the report if
    /// a download of the group has ended.
    func groupEnded(_ group: String, _ summary: DownloadSummary) {
        broadcast.tellAlone(.finished(summary), group: group)
        guard hookEvents.groupEnded(group), tellsGroupEnds else { return }
        hooks.tell(HookMessage(event: .groupEnded, time: services.time.date(), subject: .group(group, summary)))
    }

    private var tellsGroupEnds: Bool { hooks.isWanted(.groupEnded) }

    /// Runs a report that needs a look-up in the store, after the earlier reports of this kind.
    func tell<Part: AnyObject>(_ part: Part, _ work: @escaping @Sendable (Part, isolated Downloader) async -> Void) {
        let previous = telling
        telling = spawner.start(part) { part, downloader in
            await previous?.value
            await work(part, downloader)
        }
    }

    /// Returns when every report that was begun has been made.
    func finish(isolation: isolated (any Actor)? = #isolation) async { await telling?.value }

    // MARK: Hooks

    /// Reports a download's new state to hooks.
    func tellHooks(_ state: DownloadMachine.State, _ snapshot: DownloadSnapshot, alreadyExisted: Bool) {
        let event = hookEvents.note(
            snapshot.id,
            state,
            in: tellsGroupEnds ? snapshot.group : nil,
            alreadyExisted: alreadyExisted
        )
        guard hooks.isWanted, let event else { return }
        let download = HookedDownload(snapshot, alreadyExisted: alreadyExisted)
        hooks.tell(HookMessage(event: event, time: services.time.date(), subject: .download(download)))
    }

    /// Reports to hooks that all downloads have ended, unless `othersWait` is set or none has completed or failed since
    /// the last report.
    func tellHooksAllEnded(othersWait: Bool) {
        guard let counts = hookEvents.allEnded(othersWait: othersWait) else { return }
        hooks.tell(HookMessage(event: .allCompleted, time: services.time.date(), subject: .all(counts)))
    }

    /// Replaces the hooks. Ends before this call do not count for ``HookEvent/groupEnded`` and
    /// ``HookEvent/allCompleted``.
    func setHooks(_ new: [Downloader.Hook]) {
        hooks.replace(with: new)
        hookEvents.forgetEnds()
    }

    /// Notes that a caller will add downloads, or with `false` that it has added them; see ``HookEventTracker``.
    func expectMore(_ expectsMore: Bool) { hookEvents.expectMore(expectsMore) }
}

/// Rows that were deleted. The list is empty unless the downloader has listeners.
struct RemovedRows: Sendable {
    var count: Int
    var listed: [(id: DownloadID, group: String?)] = []
}

extension DownloadStore {
    /// Deletes rows, and lists them if `isListed` is `true`.
    func removeRows(_ condition: StoreCondition, isListed: Bool) async throws(DownloadError) -> RemovedRows {
        guard isListed else { return RemovedRows(count: try await remove(condition)) }
        let rows = try await removeAndList(condition)
        return RemovedRows(count: rows.count, listed: rows)
    }
}
