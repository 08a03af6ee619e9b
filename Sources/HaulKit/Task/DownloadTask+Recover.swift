internal import Foundation

/// Looking at what earlier runs and other processes left on the disk, before anything is asked of the network.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Locks the partial file of an earlier run and says how much of it may be relied on.
    func recover(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event {
        record.startedAt = record.startedAt ?? services.time.date()
        lastSync = services.time.now()
        do throws(DownloadError) {
            if let ending = try await published() { return ending }
            if let ending = try await claimBeforeStart() { return ending }
            try await adopt()
            if let ending = try await taken() { return ending }
            let (file, stored) = try await reopenLatest()
            // Another process was killed right after it gave the file its name, while this one waited for the partial file.
            if file == nil, stored?.record.status == .publishing, let ending = try await published() { return ending }
            if let record = stored?.record, record.status == .completed, let path = record.finalPath,
                record.isComplete(for: self.record.request), await services.isUnchanged(record),
                try await services.satisfies(self.record.request, record, until: environment.isStopping)
            {
                // Another process completed it while we waited.
                self.record = record
                alreadyExisted = true
                return .skipped(path: path)
            }
            guard let file else {
                // None, or gone, or another file by now: one will be made, under a name that is free then.
                record.forgetPart()
                return try await environment.space.refusal(total, here: 0, self) ?? .recovered(nil)
            }
            // The store knows best: another process may have continued, or started over, since we last looked.
            let claimed = stored?.progress?.persisted(bootID: services.disk.bootID) ?? .zero
            var version = DownloadMachine.StoredVersion(resource: stored?.record.resource)
            if record.request.adopts != nil { version.isRepair = record.keepsBytes }
            let total = version.resource.map { $0.total ?? record.request.size } ?? total
            let status = try await services.status(of: file)
            // Shorter than it should be: another program cut it, and may have done more.
            let persisted =
                claimed.count > 0 && status.size >= claimed.written.ranges.last?.upperBound ?? 0 ? claimed : nil
            hold(file, persisted ?? .zero)
            let isWhole = persisted.map { $0.prefix == stored?.record.resource?.total } ?? false
            let here = max(persisted?.count ?? 0, status.allocated)
            if isWhole { return .recovered(persisted, of: version) }
            return try await environment.space.refusal(total, here: here, self)
                ?? .recovered(persisted, of: version)
        } catch {
            return .stepFailed(error)
        }
    }

    /// The partial file that the store names, locked, and what the store says of the download. Another process may have run the
    /// download since its record was read, and left it a partial file, another one, or none.
    private func reopenLatest(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> (
        file: (any DiskFile)?, stored: DownloadStore.Saved?
    ) {
        while true {
            let file = try await reopenWhenFree()
            let stored = try await services.store.find(id: record.id)
            guard environment.configuration.storage.restoration == .onRequest, let found = stored?.record,
                found.status != .completed, found.partPath != record.partPath
            else { return (file, stored) }
            file?.unlock()
            record.takePart(of: found)
        }
    }

    /// The partial file, locked, with the download's record ours from then on; nil when there is none. Throws `inUse` when
    /// another process has it.
    func reopen(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> (any DiskFile)? {
        let file = try await partFile()
        // Without a file to lock, another process may run it under another name. An exclusive store has no other user.
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
        // A pause or a cancellation does not wait for whoever holds the file.
        return try await reopenPart(path) { $0.machine.state == .inspectingDisk }
    }

    /// From here on no other process runs this download: its end is recorded here.
    private func own() {
        ownsRecord = true
        record.ownerNumber = services.store.owner.number
    }

    /// How the download ends when its file has its name already: it was renamed, and what followed failed, or the process ended. Where
    /// several processes use the store, that may have been another process after this one read the record.
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
        // All of it is synced once everything has been checked and the name is about to be given.
        let synced = stored.progress?.persisted(bootID: services.disk.bootID).synced
        guard isShared && stored.record.status == .publishing || synced?.containsAll(of: 0..<size) == true else {
            return nil
        }
        try await services.finishPublishing(&stored, until: environment.isStopping)
        guard stored.record.status == .completed, let path = stored.record.finalPath,
            try await services.satisfies(record.request, stored.record, until: environment.isStopping)
        else { return nil }
        // Its own request may be newer than what is stored.
        let request = record.request
        record = stored.record
        record.request = request
        if request.checksum != nil { proof = .digest }
        own()
        return .skipped(path: path)
    }

    /// How the download ends when a file of its name is there and decides the matter.
    private func taken(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> DownloadMachine
        .Event?
    {
        let policy = record.request.conflictPolicy
        guard let path = record.file, policy == .fail || policy == .skip, record.damagedFile == nil else { return nil }
        let disk = services.disk
        let existingFile = try await services.onDisk { () throws(DiskError) in try disk.status(path) }
        guard let existingFile else { return nil }
        guard policy == .skip else { throw FilePlacement.exists(path) }
        return try await skip(path, existingFile)
    }

    /// Ends the download with the file that is there, which must have the digest if one was asked for.
    func skip(_ path: String, _ existingFile: FileStatus, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
        -> DownloadMachine.Event
    {
        try await checkContents(of: path)
        alreadyExisted = true
        self.existingFile = existingFile
        return .skipped(path: path)
    }

    /// Checks that a file which is left alone is what the request describes.
    private func checkContents(of path: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        let (request, flag) = (record.request, environment.isStopping)
        if let expected = request.size {
            let size = try await services.onDisk { () throws(DiskError) in try PosixFile.reading(path).size() }
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
