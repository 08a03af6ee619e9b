/// Renames the file within its folder, or moves it to another folder of the same disk.
extension DownloadTask {
    /// The part of the path that changes.
    private enum Relocation: Sendable {
        case name(String)
        case folder(String)
    }

    private var services: EngineServices { environment.services }

    /// Renames the file. Returns when the name is recorded, and for a finished file when the file has the name on the
    /// disk.
    ///
    /// - Parameter name: a file name that has been checked.
    func rename(to name: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        try await relocate(.name(name))
    }

    /// Moves the file to another folder. Returns when the folder is recorded, and for a finished file when the file is
    /// in the folder on the disk.
    ///
    /// - Parameter folder: an absolute path on the disk of the file; the folder exists.
    func move(toFolder folder: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        try await relocate(.folder(folder))
    }

    private func relocate(
        _ relocation: Relocation,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        // A batch that publishes the file already has its name.
        await leftBatch()
        // The change runs as a step, so that no other step uses the file or the record at the same time.
        let result: Result<Void, DownloadError> = await withCheckedContinuation { continuation in
            step { task, _ in
                do throws(DownloadError) {
                    try await task.change(relocation)
                    continuation.resume(returning: .success(()))
                } catch { continuation.resume(returning: .failure(error)) }
                return nil
            }
        }
        try result.get()
    }

    private func change(
        _ relocation: Relocation,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        if machine.state == .cancelled || isOnlyAnAttempt { throw .notFound(id) }
        let present = record.finalPath ?? record.file
        guard !record.isRepair else {
            throw DownloadError(
                .inUse,
                "\(present ?? record.id) is being repaired. Rename or move it when that has ended."
            )
        }
        switch relocation {
        case .name(let name):
            let path = FilePaths.join(present.map(FilePaths.folder) ?? record.folder ?? ".", name)
            guard path != present else { return }
            try await checkIsFree(path)
            if case .completed = machine.state {
                try await renameFinished(to: path)
            } else {
                try await retarget { $0.rename(to: path) }
            }
        case .folder(let folder):
            let path = present.map { FilePaths.join(folder, FilePaths.name(of: $0)) }
            guard path ?? folder != present ?? record.folder else { return }
            if let path { try await checkIsFree(path, isNewFolder: true) }
            if case .completed = machine.state {
                try await renameFinished(to: path ?? folder)
            } else {
                try await retarget { $0.move(toFolder: folder) }
            }
        }
        environment.notifications.renamed(self.present(), outcomeOfHandles, hub)
    }

    /// - Parameter isNewFolder: whether the user chose the folder of `path` just now, so that it may be a link.
    private func checkIsFree(
        _ path: String,
        isNewFolder: Bool = false,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        let disk = services.disk
        if !isNewFolder { try await services.checkFolder(of: path, record) }
        try await services.onDisk { () throws(DiskError) in
            if try disk.status(path) != nil { throw DiskError(.alreadyExists, call: "rename", path: path) }
        }
        guard try await !services.store.isDestination(path, besides: record.id) else {
            throw DownloadError(.inUse, "\(path) is the destination of another download. Choose another name.")
        }
    }

    /// Changes the destination of an unfinished download. The partial file keeps its path until it is complete.
    private func retarget(
        _ change: (inout DownloadRecord) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        let before = record
        if !standing.isOwned {
            guard try await services.store.claim(record.id) else {
                let path = record.partPath ?? record.finalPath ?? record.file ?? record.folder ?? "."
                throw FilePlacement.inUse(path, owner: record.ownerPID)
            }
            // The commit of the record releases the claim.
            record.ownerNumber = nil
        }
        change(&record)
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
        // Both names are recorded before the rename, so that the next start can complete it after a crash.
        record.beginRename(to: path, by: services.store.owner.number)
        do throws(DownloadError) { try await services.store.commit(record, nil, durably: true) } catch {
            record = before
            throw error
        }
        var failure: DownloadError?
        do throws(DownloadError) {
            try await services.onDisk { () throws(DiskError) in try placement.rename(finished, from: old, to: path) }
        } catch { failure = error }
        // The record gets the current name of the file, even if the rename failed.
        var ended = record
        try await services.finishRename(&ended)
        record = ended
        if let name = record.finalPath { send(.renamed(path: name)) }
        try await services.store.commit(record, nil, durably: true)
        if let failure { throw failure }
    }

    /// The outcome that the handles have received, with the current path.
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
                finalURL: told.finalURL,
                gaps: told.gaps
            )
        )
    }
}
