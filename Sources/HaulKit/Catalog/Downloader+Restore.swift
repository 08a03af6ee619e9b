internal import Foundation

/// Taking up what earlier runs left in the store.
extension Downloader {
    /// Takes up everything: files that were about to get their names get them, what ran waits for a slot.
    func restoreAll() async throws(DownloadError) {
        for var saved in try await store.unfinishedPublications() {
            do throws(DownloadError) {
                try await services.finishPublishing(&saved, until: engine.environment.isStopping)
                saved.record.endPublication(nil)
            } catch {
                // One folder that cannot be looked at must not keep the others from being opened.
                saved.record.endPublication(error)
            }
            try await store.commit(saved.record, nil)
        }
        // What they waited for is checked again.
        try await store.endAllHolds()
        if !configuration.storage.resumesAtStart { try await store.pauseAllQueued() }
        try await scheduler.fill(.all)
    }

    /// The task that continues a stored download for a request, queued or complete; nil when the stored download cannot
    /// serve it.
    func takeUp(_ saved: DownloadStore.Saved, _ request: DownloadRequest) async throws(DownloadError) -> DownloadTask? {
        guard let id = DownloadID(saved.record.id) else { return nil }
        var saved = saved
        // Another process has just begun it and has no file to lock yet: ours is another download until that is settled.
        if saved.record.partPath == nil, let owner = saved.record.ownerNumber, owner != store.owner.number,
            store.owner.isAlive(owner)
        {
            // A key stands for one download.
            if request.key != nil { throw FilePlacement.inUse(request.url.messageText, owner: saved.record.ownerPID) }
            return nil
        }
        let isStopping = engine.environment.isStopping
        if saved.record.status == .publishing {
            try await services.finishPublishing(&saved, until: isStopping)
            // Recorded at once: from here on a change of the file is seen.
            if saved.record.status == .completed { try await store.commit(saved.record, nil, durably: true) }
        }
        if saved.record.status == .completed {
            let isSame = saved.record.request.asksTheSame(as: request) || request.needsSource
            let isThere = saved.record.isComplete(for: request)
            if isSame, isThere, await services.isUnchanged(saved.record) {
                if try await services.satisfies(request, saved.record, until: isStopping) {
                    if saved.record.prove(by: request) { store.note(saved.record) }
                    return catalog.factory.task(saved, id)
                }
                // What was said of it was true of this version.
                saved.record.dropDescription()
            }
            guard isSame || request.key != nil else { return nil }
            space.invalidateUsage()
            // The file is gone or has become another one: it is fetched again, and whatever stands in its place is left alone.
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
