internal import Foundation
internal import Logging

/// Progress of the bytes: notes the ranges several times in each progress interval, and syncs the file once in each sync
/// interval.
extension DownloadTask {
    private var time: EngineClock { environment.services.time }

    /// Notes the current ranges in the store, unless they are noted already.
    func noteRanges() {
        if let part { note(part) }
    }

    /// Notes the current ranges between two progress reports, and passes them to the machine if it has requested
    /// connections. Moves a small file that stays in memory for too long to the disk.
    func look() {
        guard let part else { return }
        // Notes the ranges even if the machine already has them: `note(_:)` compares with the last note only.
        note(part)
        if part.file.isInMemory { leavesMemoryInTime(at: time.now()) }
        guard machine.hasIssuedConnections else { return }
        send(.bytesLanded(part.persisted))
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
            if let error = await task.makeDurable(part), task.part === part, task.isTransferring {
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
        run(bringToDisk())
    }
}
