internal import Foundation

/// Inspects the files of earlier runs and other processes on the disk, before the first request.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Locks the partial file of an earlier run and reports its reliable ranges.
    func recover(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event {
        record.startedAt = record.startedAt ?? services.time.date()
        marks.restartInterval(at: services.time.now())
        do throws(DownloadError) {
            if let ending = try await published() { return ending }
            if let ending = try await claimBeforeStart() { return ending }
            try await adopt()
            if let ending = try await taken() { return ending }
            let (file, stored) = try await reopenLatest()
            try await discardFilm(of: stored?.record)
            // While this process waited for the partial file, another process may have been killed right after the
            // rename.
            if file == nil, stored?.record.status == .publishing, let ending = try await published() { return ending }
            if let record = stored?.record, record.status == .completed, let path = record.finalPath,
                record.isComplete(for: self.record.request), !record.isReplaced(by: self.record.request),
                await services.isUnchanged(record),
                try await services.satisfies(self.record.request, record, until: environment.isStopping)
            {
                // Another process completed the download while this one waited.
                self.record = record
                earlierFile = .completed
                return .skipped(path: path)
            }
            guard let file else {
                // There is no partial file of this download any more. A new one will be created under a name that is
                // free then.
                record.forgetPart()
                return try await environment.space.refusal(total, here: 0, self) ?? .recovered(nil)
            }
            // Another record of the same request may have become complete after this one had stopped with a partial file.
            if let ending = try await endingWithTwin(insteadOf: file) {
                record.forgetPart()
                return ending
            }
            // The store has the newest state. Another process may have continued or started over since this one read
            // the record.
            let claimed = stored?.progress?.persisted(bootID: services.disk.bootID) ?? .zero
            var version = DownloadMachine.StoredVersion(resource: stored?.record.resource)
            if record.request.adopts != nil { version.isRepair = record.keepsBytes }
            let total = version.resource.map { $0.total ?? record.request.size } ?? total
            let status = try await services.status(of: file)
            // A file that is too short was cut by another program, which may have changed more.
            var persisted =
                claimed.count > 0 && status.size >= claimed.written.ranges.last?.upperBound ?? 0 ? claimed : nil
            hold(file, persisted ?? .zero)
            if let whole = await wholeLog(behind: persisted, of: stored, size: status.size) {
                persisted = whole
                hold(file, whole)
            }
            let isWhole = persisted.map { $0.prefix == stored?.record.resource?.total } ?? false
            let here = max(persisted?.count ?? 0, status.allocated)
            if isWhole { return .recovered(persisted, of: version) }
            if case .spaceMissing(let reason, let error, _)? =
                try await environment.space.refusal(total, here: here, self)
            {
                // The machine reports the download next, and the report must not forget what another process found.
                return .spaceMissing(reason, error, of: version)
            }
            return .recovered(persisted, of: version)
        } catch {
            return .stepFailed(error)
        }
    }

    /// Locks the partial file that the store names, and returns the stored download. Since this process read the
    /// record, another process may have run the download, and may have left the same partial file, another file or
    /// none.
    private func reopenLatest(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> (
        file: (any DiskFile)?, stored: DownloadStore.Saved?
    ) {
        while true {
            let file = try await reopenWhenFree()
            let stored = try await services.store.find(id: record.id)
            guard environment.configuration.storage.restoration == .onRequest, let found = stored?.record,
                found.status != .completed, found.hasOtherPart(than: record)
            else { return (file, stored) }
            file?.unlock()
            record.takePart(of: found)
        }
    }

    /// Locks the partial file of an earlier run, and makes the record this process's own. Returns `nil` if there is no
    /// partial file.
    ///
    /// Waits for another process that runs the download and may be done in a moment.
    ///
    /// - Throws: ``DownloadError/Code/inUse`` while the other process continues.
    private func reopenWhenFree(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> (
        any DiskFile
    )? {
        let began = services.time.now()
        while true {
            do throws(DownloadError) { return try await reopen() } catch {
                guard error.code == .inUse, mayWaitForTwin(since: began),
                    environment.configuration.storage.restoration == .onRequest,
                    let stored = try await services.store.find(id: record.id)?.record, stored.endsSoon
                else { throw error }
            }
            try await waitForTwin()
        }
    }

    /// Locks the partial file, and makes the record this process's own. Returns `nil` if there is no partial file.
    ///
    /// - Throws: ``DownloadError/Code/inUse`` if another process has the file.
    private func reopen(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> (any DiskFile)? {
        let file = try await partFile()
        // Without a file to lock, another process may run the download under another name. An exclusive store has no
        // other user.
        if file == nil, environment.configuration.storage.restoration == .onRequest {
            guard try await services.store.claim(record.id) else {
                throw FilePlacement.inUse(machine.settings.url.messageText, owner: nil)
            }
        }
        own()
        return file
    }

    private func partFile(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> (any DiskFile)?
    {
        guard let path = record.partPath else { return nil }
        try await services.checkFolder(of: path, record)
        // A pause or a cancellation ends the wait for the owner of the file.
        return try await reopenPart(path) { $0.machine.state == .inspectingDisk }
    }

    /// Makes the record this process's own, so that this process records the end of the download.
    private func own() {
        ownership.isOwned = true
        record.ownerNumber = services.store.owner.number
    }

    /// Returns the ending of a download whose file already has its final name; `nil` otherwise.
    ///
    /// This happens if a step after the rename failed, or the process ended right after the rename. In a shared store,
    /// another process may have renamed the file after this one read the record.
    private func published(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> DownloadMachine
        .Event?
    {
        let isShared = services.store.hasMetOthers
        guard record.status != .completed, isShared || record.partPath != nil && record.claimedFile != nil,
            var stored = try await services.store.find(id: record.id), stored.record.status != .completed
        else { return nil }
        guard isShared || stored.record.part == record.part, stored.record.partPath != nil,
            let size = stored.record.claimedFile?.size
        else { return nil }
        // Requires that the whole file is synced, because a file is synced before it gets its final name.
        let synced = stored.progress?.persisted(bootID: services.disk.bootID).synced
        guard isShared && stored.record.status == .publishing || synced?.containsAll(of: 0..<size) == true else {
            return nil
        }
        try await services.finishPublishing(&stored, until: environment.isStopping)
        guard stored.record.status == .completed, let path = stored.record.finalPath,
            try await services.satisfies(record.request, stored.record, until: environment.isStopping)
        else { return nil }
        // The request of this task may be newer than the stored one.
        let request = record.request
        record = stored.record
        record.request = request
        if request.checksum != nil { proof = .digest }
        own()
        return .skipped(path: path)
    }

    /// Checks whether a file with the requested name exists. If so, throws if the policy is `fail`, and returns the
    /// ending of the download if the policy is `skip`. Returns `nil` otherwise.
    private func taken(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> DownloadMachine
        .Event?
    {
        let policy = record.request.conflictPolicy
        guard let path = record.file, policy == .fail || policy == .skip, record.damagedFile == nil,
            record.request.replaces == nil
        else { return nil }
        let disk = services.disk
        let existingFile = try await services.onDisk { () throws(DiskError) in try disk.status(path) }
        guard let existingFile else { return nil }
        guard policy == .skip else { throw FilePlacement.exists(path) }
        return try await skip(path, existingFile)
    }

    /// Ends the download with an existing file. The file must match the size and digests of the request.
    func skip(_ path: String, _ existingFile: FileStatus, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
        -> DownloadMachine.Event
    {
        guard existingFile.isReplaceable else { throw DownloadError(DiskError(.notAFile, call: "open", path: path)) }
        try await checkContents(of: path)
        earlierFile = .leftAlone(existingFile)
        return .skipped(path: path)
    }

    /// Checks that an existing file matches the size and digests of the request.
    private func checkContents(of path: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        let (request, flag, disk) = (record.request, environment.isStopping, services.disk)
        if let expected = request.size {
            let size = try await services.onDisk { () throws(DiskError) in try disk.openForReading(path).size() }
            guard size == expected else {
                throw DownloadError(
                    .checksumMismatch,
                    "\(path) exists and was left alone, but has \(size) bytes, not \(expected)."
                )
            }
        }
        if let checksum = request.checksum {
            let actual = try await services.digest(checksum.algorithm, of: path, until: flag)
            guard actual == checksum else {
                throw DownloadError(
                    .checksumMismatch,
                    "\(path) exists and was left alone, but has the digest \(actual), not \(checksum)."
                )
            }
            proof = .digest
        } else if let pieces = request.pieces, try await !services.hasPieces(pieces, path, until: flag) {
            throw DownloadError(
                .checksumMismatch,
                "\(path) exists and was left alone, but not all of its pieces have their digests."
            )
        }
    }
}
