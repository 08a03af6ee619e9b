/// The parts of a file's path that change; `nil` for a part that stays.
struct Relocation: Sendable {
    /// A name without a folder.
    var name: String?
    /// An absolute path.
    var folder: String?
}

/// Renames the file, or moves it to another folder of the same disk.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Renames the file, or moves it to another folder, or both in one change. Returns when the path is recorded, and
    /// for a finished file when the file has the path on the disk.
    ///
    /// - Parameter relocation: a name that has been checked, and an absolute folder on the disk of the file.
    func relocate(
        _ relocation: Relocation,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        // Waits for the batch that publishes the file, because the batch has already chosen the name.
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
        let folder = relocation.folder ?? present.map(FilePaths.folder) ?? record.folder ?? "."
        // Without a name, the server chooses the name in the folder.
        let path = (relocation.name ?? present.map(FilePaths.name)).map { FilePaths.join(folder, $0) }
        guard path.map({ $0 != present }) ?? (folder != record.folder) else { return }
        if let path { try await checkIsFree(path, isNewFolder: relocation.folder != nil) }
        if let made = relocation.folder {
            let disk = services.disk
            try await services.onDisk { () throws(DiskError) in try disk.createFolder(made) }
        }
        if case .completed = machine.state {
            try await renameFinished(to: path ?? folder)
        } else {
            try await retarget { record in
                if let path, relocation.name != nil { record.rename(to: path) } else { record.move(toFolder: folder) }
            }
        }
        environment.notifications.renamed(self.present(), outcomeOfHandles, hub)
    }

    /// - Parameter isNewFolder: whether the user chose the folder of `path` just now, so that the folder may be a link.
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
        if !ownership.isOwned {
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
