/// Another name for the file, in its folder.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Returns when the name is recorded, and on disk where the file is finished.
    ///
    /// - Parameter name: has been checked.
    func rename(to name: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        // The batch that it is published with has its name already.
        while bytesInBatch != nil { await withCheckedContinuation { waitingForBatch.append($0) } }
        // A step, so that no other one is at its file and record meanwhile.
        let result: Result<Void, DownloadError> = await withCheckedContinuation { continuation in
            step { task, _ in
                do throws(DownloadError) {
                    try await task.changeName(name)
                    continuation.resume(returning: .success(()))
                } catch { continuation.resume(returning: .failure(error)) }
                return nil
            }
        }
        try result.get()
    }

    private func changeName(_ name: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        if machine.state == .cancelled || isOnlyAnAttempt { throw .notFound(id) }
        let present = record.finalPath ?? record.file
        let path = FilePaths.join(present.map(FilePaths.folder) ?? record.folder ?? ".", name)
        guard !record.isRepair else {
            throw DownloadError(.inUse, "\(present ?? path) is being repaired. Rename it when that has ended.")
        }
        guard path != present else { return }
        try await checkIsFree(path)
        if case .completed = machine.state { try await renameFinished(to: path) } else { try await retarget(to: path) }
        environment.notifications.renamed(self.present(), outcomeOfHandles, hub)
    }

    private func checkIsFree(_ path: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
    {
        let disk = services.disk
        try await services.checkFolder(of: path, record)
        try await services.onDisk { () throws(DiskError) in
            if try disk.status(path) != nil { throw DiskError(.alreadyExists, call: "rename", path: path) }
        }
        guard try await !services.store.isDestination(path, besides: record.id) else {
            throw DownloadError(.inUse, "\(path) is the destination of another download. Choose another name.")
        }
    }

    /// The bytes of an unfinished download stay where they are until they are complete.
    private func retarget(to path: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        let before = record
        if !ownsRecord {
            guard try await services.store.claim(record.id) else {
                throw FilePlacement.inUse(record.partPath ?? path, owner: record.ownerPID)
            }
            // Given up with the record.
            record.ownerNumber = nil
        }
        record.rename(to: path)
        do throws(DownloadError) { try await services.store.commit(record, nil, durably: true) } catch {
            record = before
            throw error
        }
    }

    private func renameFinished(to path: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        let before = record
        guard let old = record.finalPath, let finished = record.finished else {
            throw DownloadError(DiskError(.notFound, call: "rename", path: record.finalPath ?? path))
        }
        let placement = services.placement
        try await services.onDisk { () throws(DiskError) in try placement.check(finished, at: old) }
        // Both names are recorded before the file gets the new one: a crash in between can then be understood.
        record.beginRename(to: path, by: services.store.owner.number)
        do throws(DownloadError) { try await services.store.commit(record, nil, durably: true) } catch {
            record = before
            throw error
        }
        var failure: DownloadError?
        do throws(DownloadError) {
            try await services.onDisk { () throws(DiskError) in try placement.rename(finished, from: old, to: path) }
        } catch { failure = error }
        // Whatever became of it, the record has the name that the file has now.
        var ended = record
        try await services.finishRename(&ended)
        record = ended
        if let name = record.finalPath { send(.renamed(path: name)) }
        try await services.store.commit(record, nil, durably: true)
        if let failure { throw failure }
    }

    /// The outcome that handles were told, with the present path.
    private var outcomeOfHandles: DownloadOutcome? {
        guard case .completed(let told)? = hub.outcome, case .completed(let path) = machine.state else {
            return outcome
        }
        return .completed(
            CompletedDownload(
                id: id,
                path: path,
                bytes: told.bytes,
                proof: told.proof,
                alreadyExisted: told.alreadyExisted,
                finalURL: told.finalURL
            )
        )
    }
}
