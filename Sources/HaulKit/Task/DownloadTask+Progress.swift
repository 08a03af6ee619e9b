internal import Foundation
internal import Logging

/// Keeping up with the bytes: how far they have come, noted ten times a second and synced every few.
extension DownloadTask {
    private var store: DownloadStore { environment.services.store }
    private var time: EngineClock { environment.services.time }

    /// A look between two marks.
    ///
    /// - Parameter notesProgress: the store is told how far the bytes have come.
    func look(notesProgress: Bool) {
        guard let part else { return }
        // What the machine has heard of says nothing about what the store was told.
        if notesProgress { note(part) }
        if part.file.isInMemory { leavesMemoryInTime(at: time.now()) }
        guard machine.isShared else { return }
        send(.bytesLanded(part.persisted))
    }

    /// Tells the store how far the bytes have come, where that has changed since it was told last. The bytes of a file in
    /// memory are nothing that could be claimed.
    func note(_ part: PartFile) {
        guard !part.file.isInMemory else { return }
        let persisted = part.persisted
        guard persisted != notedMark else { return }
        notedMark = persisted
        store.note(persisted, of: record.id)
    }

    /// The transfer is over for now: the bytes are not looked at until the next one begins, which may take minutes.
    /// What is still on its way to the disk is waited for, and the store is told of it.
    func noteLast() {
        guard let part, isBetweenTransfers else { return }
        if part.file.isInMemory {
            // A complete one is about to be published, with others.
            if !machine.isComplete { bringToDisk() }
            return
        }
        environment.spawner.start(self) { task, _ in
            await part.drain()
            if task.part === part, task.isBetweenTransfers { task.note(part) }
        }
    }

    /// Another question is about to be asked, or all is here and the disk is waited for. While an answer is being prepared
    /// for, the bytes may be forgotten; a step that ends a run records its marks itself.
    private var isBetweenTransfers: Bool {
        switch machine.state {
        case .awaitingURL, .choosing, .comparing, .connecting, .backingOff: true
        default: machine.isComplete
        }
    }

    /// Takes over how far the bytes have come, notes it, and syncs when it is time.
    func recordProgress() {
        guard case .transferring = machine.state, let part else { return }
        let now = time.now()
        let persisted = part.persisted
        let isInMemory = part.file.isInMemory
        note(part)
        send(.bytesLanded(persisted))
        countBytes()
        part.catchUp()
        meter.record(persisted.count, at: now)
        environment.notifications.progressed(present(at: now), hub)
        if isInMemory { return leavesMemoryInTime(at: now) }
        if now - lastSync >= environment.configuration.storage.syncInterval, !isSyncing,
            persisted.written != persisted.synced
        {
            sync(part)
        }
    }

    private func sync(_ part: PartFile) {
        isSyncing = true
        environment.spawner.start(self) { task, _ in
            if let error = await task.makeDurable(part), task.part === part, task.machine.isTransferring {
                task.send(.bytesLanded(part.persisted))
                task.send(.stepFailed(error))
            }
            task.lastSync = task.time.now()
            task.isSyncing = false
            task.recordProgress()
        }
    }

    // MARK: Small files

    /// A file that is still not complete three quarters of a mark interval after it began is from here on one like any other.
    private func leavesMemoryInTime(at now: Instant) {
        // One that has just turned out to be complete may be on its way to the disk with others.
        guard case .transferring = machine.state, pendingSteps == 0, !isRefusedByDisk,
            now - gatheringSince >= environment.configuration.storage.progressInterval * 3 / 4
        else { return }
        lastSync = now
        bringToDisk()
    }

    /// Puts on the disk what has gathered, and claims it.
    private func bringToDisk() {
        step { task, _ in
            // Where the disk does not want it, publishing will say so.
            if await task.tryToMoveToDisk(), let part = task.part { task.note(part) }
            return nil
        }
    }
}
