internal import Foundation
internal import Logging

/// Progress of the bytes: notes the ranges ten times a second and syncs the file every few seconds.
extension DownloadTask {
    private var store: DownloadStore { environment.services.store }
    private var time: EngineClock { environment.services.time }

    /// Looks at the transfer between two progress reports.
    ///
    /// - Parameter notesProgress: whether to note the ranges in the store.
    func look(notesProgress: Bool) {
        guard let part else { return }
        // The note does not depend on the ranges of the machine, which may be newer than the last note.
        if notesProgress { note(part) }
        if part.file.isInMemory { leavesMemoryInTime(at: time.now()) }
        guard machine.isShared else { return }
        send(.bytesLanded(part.persisted))
    }

    /// Notes the ranges in the store if they have changed since the last note. Bytes of a file in memory cannot be
    /// claimed.
    func note(_ part: PartFile) {
        guard !part.file.isInMemory else { return }
        let persisted = part.persisted
        if marks.note(persisted) { store.note(persisted, of: record.id) }
    }

    /// Notes the ranges once more at the end of a transfer, because the next transfer may begin only minutes later.
    /// Waits for the writes that are under way.
    func noteLast() {
        guard let part, isBetweenTransfers else { return }
        if part.file.isInMemory {
            // A complete file is about to be published in a batch.
            if !machine.isComplete { bringToDisk() }
            return
        }
        environment.spawner.start(self) { task, _ in
            await part.drain()
            if task.part === part, task.isBetweenTransfers { task.note(part) }
        }
    }

    /// Whether the next request is about to be made, or a complete file waits for the disk.
    ///
    /// While the file is being prepared for an answer, its bytes may be forgotten. A step that ends a run records the
    /// ranges itself.
    private var isBetweenTransfers: Bool {
        switch machine.state {
        case .awaitingURL, .choosing, .comparing, .connecting, .backingOff: true
        default: machine.isComplete
        }
    }

    /// Passes the current ranges to the machine, the store and the listeners. Syncs the file if the sync interval has
    /// passed.
    func recordProgress() {
        guard case .transferring = machine.state, let part else { return }
        let now = time.now()
        let persisted = part.persisted
        let isInMemory = part.file.isInMemory
        note(part)
        send(.bytesLanded(persisted))
        countBytes()
        part.catchUp()
        marks.measure(persisted.count, at: now)
        environment.notifications.progressed(present(at: now), hub)
        if isInMemory { return leavesMemoryInTime(at: now) }
        if persisted.written != persisted.synced,
            marks.beginSync(at: now, every: environment.configuration.storage.syncInterval)
        {
            sync(part)
        }
    }

    private func sync(_ part: PartFile) {
        environment.spawner.start(self) { task, _ in
            if let error = await task.makeDurable(part), task.part === part, task.machine.isTransferring {
                task.send(.bytesLanded(part.persisted))
                task.send(.stepFailed(error))
            }
            task.marks.endSync(at: task.time.now())
            task.recordProgress()
        }
    }

    // MARK: Small files

    /// Moves a file from memory to the disk if it is not complete after three quarters of a progress interval.
    private func leavesMemoryInTime(at now: Instant) {
        // A file that has just become complete may be on its way to the disk in a batch.
        guard case .transferring = machine.state, steps.isEmpty,
            smallFile.isOver(at: now, after: environment.configuration.storage.progressInterval * 3 / 4)
        else { return }
        marks.restartInterval(at: now)
        bringToDisk()
    }

    /// Writes the buffered bytes to the disk and claims them.
    private func bringToDisk() {
        step { task, _ in
            // If the disk refuses the bytes, publishing reports the error.
            if await task.tryToMoveToDisk(), let part = task.part { task.note(part) }
            return nil
        }
    }
}
