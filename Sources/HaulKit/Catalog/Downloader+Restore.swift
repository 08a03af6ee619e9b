internal import Foundation

/// Continues the downloads that earlier processes left in the store.
extension Downloader {
    /// Completes interrupted placements of files, and queues the downloads that waited or ran, except those of
    /// ``Downloader/Configuration/Storage/groupsOfLaterSets``. If
    /// ``Downloader/Configuration/Storage/resumesAtStart`` is `false`, pauses all queued downloads instead.
    func restoreAll() async throws(DownloadError) {
        for var saved in try await store.unfinishedPublications() {
            do throws(DownloadError) {
                try await services.finishPublishing(&saved, until: engine.environment.isStopping)
                saved.record.endPublication(nil)
            } catch {
                // One folder that cannot be examined must not stop the other placements.
                saved.record.endPublication(error)
            }
            try await store.commit(saved.record, nil)
        }
        // Ends all holds. The scheduler holds a download again if the reason still applies when the download is to
        // start.
        try await store.endAllHolds()
        if !configuration.storage.resumesAtStart { try await store.pauseAllQueued() }
        var wanted = StoreCondition.all
        let later = try await store.waitingOfSets(in: configuration.storage.groupsOfLaterSets)
        if !later.isEmpty { wanted.add(besides: later) }
        try await scheduler.fill(wanted)
    }

    /// Returns the task that continues a stored download for a request, in state queued or complete, or `nil` if the
    /// stored download cannot serve the request.
    func takeUp(_ saved: DownloadStore.Saved, _ request: DownloadRequest) async throws(DownloadError) -> DownloadTask? {
        guard let id = DownloadID(saved.record.id) else { return nil }
        var saved = saved
        // Another process has just begun the download and has no partial file to lock yet. Until that file exists, a
        // request without a key starts another download.
        if saved.record.partPath == nil, let owner = saved.record.ownerNumber, owner != store.owner.number,
            store.owner.isAlive(owner)
        {
            // A key stands for one download, so no other download can get it.
            if request.key != nil { throw FilePlacement.inUse(request.url.messageText, owner: saved.record.ownerPID) }
            return nil
        }
        let isStopping = engine.environment.isStopping
        if saved.record.status == .publishing {
            try await services.finishPublishing(&saved, until: isStopping)
            // Recorded at once, so that a later change of the file is detected.
            if saved.record.status == .completed { try await store.commit(saved.record, nil, durably: true) }
        }
        if saved.record.status == .completed {
            let isSame = saved.record.request.asksTheSame(as: request) || request.needsSource
            let isThere = saved.record.isComplete(for: request)
            if isSame, isThere, await services.isUnchanged(saved.record) {
                if !saved.record.isReplaced(by: request),
                    try await services.satisfies(request, saved.record, until: isStopping)
                {
                    if saved.record.prove(by: request) { store.note(saved.record) }
                    return catalog.factory.task(saved, id)
                }
                // Drops the description of the version on disk, because that version does not satisfy the request or
                // has gaps.
                saved.record.dropDescription()
            }
            guard isSame || request.key != nil else { return nil }
            space.invalidateUsage()
            // The file is missing, has changed or does not satisfy the request. The download fetches the file again. If
            // another file has the name now, that file is not touched.
            saved.record.startOver()
            if saved.record.file != nil { saved.record.finalPath = nil }
            saved.progress = nil
        }
        if !saved.record.isBound(for: request.destination) {
            try await checkMove(saved.record, to: request.destination)
            saved.record.move(to: request.destination)
        }
        let isReplaced = saved.record.merge(request)
        saved.record.requeue()
        return catalog.factory.task(saved, id, isFromReplacedSource: isReplaced)
    }
}
