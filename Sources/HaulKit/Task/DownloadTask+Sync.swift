internal import Logging

/// Bringing bytes to the disk and claims of them to the store, in this order.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Syncs a file whose bytes still arrive, and records the claim durably.
    ///
    /// - Returns: why the disk could not be relied on.
    func makeDurable(_ part: PartFile, isolation: isolated (any Actor)? = #isolation) async -> DownloadError? {
        do throws(DiskError) {
            try await makeNameDurable(part)
            try await checkPlace(part)
            _ = try await part.sync()
        } catch { return DownloadError(error) }
        // A claim that a power loss may take back would be worth nothing: surely, then.
        guard self.part === part, case .transferring = machine.state else { return nil }
        // The version may have got another name, once its bytes had been compared.
        record.resource = machine.resource
        do throws(DownloadError) {
            try await services.store.commit(record, part.persisted, durably: true)
        } catch { services.logger.debug("store: \(error)") }
        return nil
    }

    /// What was moved away or replaced could not be published in the end: better to hear of it now.
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
        guard needsFolderSync else { return }
        let disk = services.disk
        let folder = FilePaths.folder(of: part.path)
        needsFolderSync = false
        do throws(DiskError) {
            try await services.runBlocking { () throws(DiskError) in try disk.syncFolder(folder) }
        } catch {
            needsFolderSync = true
            throw error
        }
    }

    /// Brings the bytes of a run that has ended to the disk.
    func syncAtRest(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        guard let part else { return nil }
        await part.drain()
        // Nobody would go on with a partial file of it.
        if part.file.isInMemory, isOnlyAnAttempt { return .bytesLanded(.zero) }
        guard await tryToMoveToDisk() else { return .bytesLanded(.zero) }
        do throws(DiskError) {
            try await makeNameDurable(part)
            _ = try await part.sync()
        } catch {
            // The mark has fallen back to what is surely there.
            services.logger.debug("sync: \(error.sentence)")
        }
        return .bytesLanded(part.persisted)
    }

    /// Records what ``syncAtRest()`` brought to the disk.
    func commitAtRest(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        guard let part else {
            if ownsRecord { services.store.note(record) }
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

    /// Records those that the user has paused once more: what ``report()`` noted may not have been written.
    ///
    /// - Returns: why they could not be recorded.
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
        for task in paused { task.isPauseUnrecorded = failure != nil }
        return failure
    }

    private var isPausedByUser: Bool {
        machine.state == .paused && machine.hold == nil && ownsRecord && !environment.isShuttingDown
    }
}
