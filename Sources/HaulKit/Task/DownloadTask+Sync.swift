internal import Logging

/// Brings bytes to the disk and then their claims to the store.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Syncs a file during a transfer, and records its claim durably.
    ///
    /// - Returns: the error if the disk is not reliable.
    func makeDurable(_ part: PartFile, isolation: isolated (any Actor)? = #isolation) async -> DownloadError? {
        do throws(DiskError) {
            try await makeNameDurable(part)
            try await checkPlace(part)
            _ = try await part.sync()
        } catch { return DownloadError(error) }
        // The commit is durable, because a claim that a power loss may take back is worth nothing.
        guard self.part === part, case .transferring = machine.state else { return nil }
        // The comparison of the bytes may have changed the validator.
        record.resource = machine.resource
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
        // No run would continue this partial file.
        if part.file.isInMemory, isOnlyAnAttempt { return .bytesLanded(.zero) }
        guard await tryToMoveToDisk() else { return .bytesLanded(.zero) }
        do throws(DiskError) {
            try await makeNameDurable(part)
            _ = try await part.sync()
        } catch {
            // The written ranges have fallen back to the synced ones.
            services.logger.debug("sync: \(error.sentence)")
        }
        return .bytesLanded(part.persisted)
    }

    /// Records the ranges after ``syncAtRest()``.
    func commitAtRest(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        guard let part else {
            if standing.isOwned { services.store.note(record) }
            return nil
        }
        guard !part.file.isInMemory else { return nil }
        do {
            try await services.store.commit(record, part.persisted)
        } catch {
            services.logger.debug("store: \(error)")
            // The store still claims bytes that the disk has lost.
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
        for task in paused { task.standing.isPauseUnrecorded = failure != nil }
        return failure
    }

    private var isPausedByUser: Bool {
        machine.state == .paused && machine.hold == nil && standing.isOwned && !environment.isShuttingDown
    }
}
