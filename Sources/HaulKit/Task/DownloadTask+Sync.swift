internal import Logging

/// Syncs bytes to the disk and then records their ranges in the store.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    // MARK: Notes

    /// Notes the ranges in the store if they have changed since the last note. Skips a file in memory, because its
    /// bytes end with the process.
    func note(_ part: PartFile) {
        guard !part.file.isInMemory else { return }
        let persisted = part.persisted
        if marks.note(persisted) { services.store.note(persisted, of: record.id) }
    }

    /// Notes the ranges once more at the end of a transfer, because the next transfer may begin only minutes later.
    /// Waits for the writes that are under way.
    func noteAtEnd() -> Work {
        guard let part, isBetweenTransfers else { return .nothing }
        if part.file.isInMemory {
            // A complete file is about to be published in a batch.
            return machine.isComplete ? .nothing : bringToDisk()
        }
        return .beside { task, _ in
            await part.drain()
            if task.part === part, task.isBetweenTransfers { task.note(part) }
            return nil
        }
    }

    /// Writes the buffered bytes of a small file to the disk and notes their ranges.
    func bringToDisk() -> Work {
        .step { task, _ in
            // If the disk refuses the bytes, publishing reports the error.
            if await task.tryToMoveToDisk(), let part = task.part { task.note(part) }
            return nil
        }
    }

    /// Whether the next request is about to be made, or a complete file waits for the disk.
    ///
    /// `false` while the file is being prepared for an answer, because its bytes may be forgotten, and at the end of a
    /// run, because a step then records the ranges.
    private var isBetweenTransfers: Bool {
        switch machine.state {
        case .awaitingURL, .choosing, .comparing, .connecting, .backingOff: true
        default: machine.isComplete
        }
    }

    // MARK: Commits

    /// Syncs a file during a transfer, and records its claim durably.
    ///
    /// - Returns: the error of the disk. An error of the store is only logged.
    func makeDurable(_ part: PartFile, isolation: isolated (any Actor)? = #isolation) async -> DownloadError? {
        do throws(DiskError) {
            try await makeNameDurable(part)
            try await checkPlace(part)
            _ = try await part.sync()
        } catch { return DownloadError(error) }
        // The commit is durable, because a power loss must not take back the claim.
        guard self.part === part, case .transferring = machine.state else { return nil }
        // The comparison of the bytes may have changed the validator.
        record.take(machine.resource)
        do throws(DownloadError) {
            try await services.store.commit(record, part.persisted, durably: true)
        } catch { services.logger.debug("store: \(error)") }
        return nil
    }

    /// Checks that the partial file is still at its path. A moved or replaced file could not be published, so the error
    /// is reported early.
    private func checkPlace(_ part: PartFile, isolation: isolated (any Actor)? = #isolation) async throws(DiskError) {
        let placement = services.placement
        let stands = try await services.runBlocking { () throws(DiskError) in
            try placement.stands(part.file, at: part.path)
        }
        guard stands else { throw DiskError(.replaced, call: "lstat", path: part.path) }
    }

    private func makeNameDurable(_ part: PartFile, isolation: isolated (any Actor)? = #isolation)
        async throws(DiskError)
    {
        guard marks.needsFolderSync else { return }
        let disk = services.disk
        let folder = FilePaths.folder(of: part.path)
        marks.needsFolderSync = false
        do throws(DiskError) {
            try await services.runBlocking { () throws(DiskError) in try disk.syncFolder(folder) }
        } catch {
            marks.needsFolderSync = true
            throw error
        }
    }

    /// Brings the bytes of an ended run to the disk.
    func syncAtRest(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        guard let part else { return nil }
        await part.drain()
        // Drops the bytes, because no run would continue this partial file.
        if part.file.isInMemory, isOnlyAnAttempt { return .bytesLanded(.zero) }
        guard await tryToMoveToDisk() else { return .bytesLanded(.zero) }
        do throws(DiskError) {
            try await makeNameDurable(part)
            _ = try await part.sync()
        } catch {
            // After a failed sync of the file, `part` claims only the synced ranges.
            services.logger.debug("sync: \(error.sentence)")
        }
        return .bytesLanded(part.persisted)
    }

    /// Records the ranges after ``syncAtRest()``.
    func commitAtRest(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        guard let part else {
            if ownership.isOwned { services.store.note(record) }
            return nil
        }
        guard !part.file.isInMemory else { return nil }
        do {
            try await services.store.commit(record, part.persisted)
        } catch {
            services.logger.debug("store: \(error)")
            // Cuts the file, because the store still claims bytes that the disk has lost.
            if part.syncFailure != nil {
                do throws(DiskError) { try await part.cutToSynced() } catch {
                    services.logger.debug("cut: \(error.sentence)")
                }
            }
        }
        return nil
    }

    /// Commits the records of downloads that the user has paused. The store may not have written the note of
    /// ``report()``.
    ///
    /// - Returns: the error if the records could not be written.
    static func recordPauses(of tasks: [DownloadTask], isolation: isolated (any Actor)? = #isolation) async
        -> DownloadError?
    {
        let paused = tasks.filter { $0.isPausedByUser }
        guard let services = paused.first?.services else { return nil }
        let failure: DownloadError?
        do throws(DownloadError) {
            try await services.store.commit(paused.map { ($0.record, nil) })
            failure = nil
        } catch { failure = error }
        for task in paused { task.ownership.isPauseUnrecorded = failure != nil }
        return failure
    }

    private var isPausedByUser: Bool {
        machine.state == .paused && machine.hold == nil && ownership.isOwned && !environment.isShuttingDown
    }
}
