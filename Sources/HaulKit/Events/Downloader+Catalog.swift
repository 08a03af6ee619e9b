internal import Logging

/// Telling listeners of a downloader, and of its groups, what was added, removed, and changed in bulk.
extension Downloader {
    func announceAddition(of record: DownloadRecord, received: Int64 = 0) {
        guard broadcast.isHeard, let id = DownloadID(record.id) else { return }
        let snapshot = withReason(DownloadSnapshot(id, record, receivedBytes: received), record.host)
        broadcast.tell(.added(snapshot), group: snapshot.group)
    }

    /// Deletes rows of the store.
    func forget(_ condition: StoreCondition) async throws(DownloadError) -> RemovedRows {
        guard broadcast.isHeard else { return RemovedRows(count: try await store.remove(condition)) }
        let rows = try await store.removeAndList(condition)
        return RemovedRows(count: rows.count, listed: rows)
    }

    func announce(_ removed: RemovedRows) {
        for row in removed.listed { broadcast.tell(.removed(row.id, group: row.group), group: row.group) }
    }

    /// Of the downloads that a condition selects: how many belong to each group that is listened to.
    func listenedGroups(_ condition: StoreCondition) async throws(DownloadError) -> [DownloadStore.GroupShare] {
        let groups = broadcast.groups
        return groups.isEmpty ? [] : try await store.shares(of: groups, condition)
    }

    func announceTogether(
        _ state: DownloadSnapshot.State,
        count: Int,
        in groups: [DownloadStore.GroupShare]
    ) {
        if count > 0 { broadcast.tellAlone(.changedTogether(to: state, count: count), group: nil) }
        for share in groups where share.count > 0 {
            broadcast.tellAlone(.changedTogether(to: state, count: share.count), group: share.group)
            if state != .queued, share.open > 0 { noteRest(of: share.group) }
        }
    }

    /// Tells listeners of groups how many of their downloads wait, of which something general has changed.
    func announceWaiting() {
        broadcast.tellAlone(.changedTogether(to: .queued, count: queue.waitingCount), group: nil)
        let groups = broadcast.groups
        guard !groups.isEmpty else { return }
        tell { downloader in
            for group in groups.sorted() {
                do throws(DownloadError) {
                    let open = try await downloader.store.open(group: group, limit: .max)
                    let count = open.count { downloader.queue.waits($0) }
                    guard count > 0 else { continue }
                    downloader.broadcast.tellAlone(.changedTogether(to: .queued, count: count), group: group)
                } catch { downloader.logger.debug("store: \(error)") }
            }
        }
    }

    /// A download of the group has come to rest, and the group may have with it.
    func noteRest(of group: String?) {
        guard let group, broadcast.groups.contains(group) else { return }
        idle.restedGroups.insert(group)
        lookWhoIsIdle()
    }
}

/// Rows that were deleted; listed only where somebody is to be told.
struct RemovedRows: Sendable {
    var count: Int
    var listed: [(id: DownloadID, group: String?)] = []
}

extension DownloadSnapshot {
    /// Waits or runs, or will by itself.
    var isUnderWay: Bool {
        switch state {
        case .queued, .connecting, .transferring, .waiting, .verifying: true
        case .paused: holdReason != nil
        case .completed, .failed, .cancelled: false
        }
    }
}
