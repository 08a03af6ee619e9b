internal import Foundation

/// The partial file of a download: creates the file under an available name or opens the file of an earlier run, and
/// keeps it open.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Creates the partial file under an available name, and puts its path and the final path into the record.
    func createPart(
        _ path: String,
        _ policy: DownloadRequest.ConflictPolicy,
        isolation: isolated (any Actor)? = #isolation
    )
        async throws(DownloadError) -> UnlessTwin<any DiskFile>
    {
        let (file, finalPath): (any DiskFile, String)
        switch try await takeName(path, policy) {
        case .done(let taken): (file, finalPath) = taken
        case .notNeeded(let ending): return .notNeeded(ending)
        }
        record.part = try await services.status(of: file)
        record.part?.size = 0
        record.partPath = file.path
        record.finalPath = finalPath
        marks.needsFolderSync = true
        smallFile.hasNoDiskState = false
        return .done(file)
    }

    /// Finds an available name and locks a partial file for it. A taken name may belong to the file of this download,
    /// which another process has completed.
    private func takeName(
        _ path: String,
        _ policy: DownloadRequest.ConflictPolicy,
        isolation: isolated (any Actor)? = #isolation
    )
        async throws(DownloadError) -> UnlessTwin<(any DiskFile, finalPath: String)>
    {
        try await services.checkFolder(of: path, record)
        // Looks for a twin before creating a file, because the file would stay if the process were killed before the
        // record is written.
        if services.store.hasMetOthers, let ending = try await endingWithTwin() { return .notNeeded(ending) }
        var hasAsked = false
        for name in services.placement.names(for: path, policy: policy) {
            do throws(DownloadError) {
                if let file = try await takePart(of: name, policy) {
                    // This process may have waited for an earlier name while another process completed the download.
                    guard hasAsked, services.store.hasMetOthers,
                        let ending = try await endingWithTwin(insteadOf: file)
                    else { return .done((file, finalPath: name)) }
                    return .notNeeded(ending)
                }
            } catch {
                guard error.code == .fileExists || error.code == .inUse, let ending = try await endingWithTwin() else {
                    throw error
                }
                return .notNeeded(ending)
            }
            // This process may have waited for the name while another process completed the download.
            if !hasAsked || services.store.hasMetOthers, let ending = try await endingWithTwin() {
                return .notNeeded(ending)
            }
            hasAsked = true
        }
        throw FilePlacement.noFreeName(path)
    }

    /// Creates the partial file for `name`. Replaces an existing partial file that is empty, belongs to the same
    /// download, or is unknown while `policy` allows overwriting. Returns `nil` to try another name.
    private func takePart(
        of name: String,
        _ policy: DownloadRequest.ConflictPolicy,
        isolation: isolated (any Actor)? = #isolation
    )
        async throws(DownloadError) -> (any DiskFile)?
    {
        let (placement, part) = (services.placement, FilePaths.part(of: name))
        if policy == .rename, try await hasFilmOfAnother(beside: part) { return nil }
        let isOfSet = record.request.key.map(Downloader.isKeyOfSet) == true
        // A locked file is tried several times: its owner is unknown until the process that created the file has
        // recorded it, and an owner may be about to release the file.
        var isOthers = false
        let began = services.time.now()
        var tries = 0
        while tries < 10 {
            tries += 1
            switch try await services.runBlocking({ () throws(DownloadError) in
                try placement.availability(of: name, policy: policy)
            }) {
            case .taken: return nil
            case .free:
                let made = try await services.runBlocking { () throws(DownloadError) in try placement.createPart(part) }
                if let made {
                    try await discardFilmOfTwin(at: part)
                    return made.file
                }
            case .hasPart: break
            }
            let other = try await recordOfPart(part)
            if let other, Self.isSame(other, record), other.ownerNumber.map(services.store.owner.isAlive) != true {
                // The record of the ended owner may name a film that is not in its place yet.
                try await finishSwap(of: other)
            }
            let claim: FilePlacement.Claim =
                other.map {
                    Self.isSame($0, record) ? .sameDownload(owner: $0.ownerPID, part: $0.part) : .anotherDownload
                }
                ?? .unknown
            switch try await services.runBlocking({ () throws(DownloadError) in
                try placement.takeOver(part, claimed: claim, policy: policy, isOfSet: isOfSet)
            }) {
            case .lockedBySame(let error):
                guard isWorthWaiting(for: other?.ownerNumber, since: began) else { throw error }
                tries = 0
                await waitForLock()
            case .taken(let file):
                // The previous owner of the lock may have recorded the file in the meantime.
                let claimant = try await recordOfPart(part)
                guard claimant?.id == other?.id else {
                    file.unlock()
                    continue
                }
                try await discardFilm(of: other)
                let new = try await services.runBlocking { () throws(DownloadError) in try placement.replace(file) }
                guard let new else { continue }
                // The bytes of the other download are gone and must not be claimed any more.
                if let other { try await services.store.remove(other.id) }
                return new
            case .notOurs: return nil
            case .gone: continue
            case .lockedByStranger:
                isOthers = true
                await waitForLock()
            }
        }
        if policy == .rename, isOthers { return nil }
        throw FilePlacement.inUse(part, owner: nil)
    }

    /// Returns the record of another download that has the partial file at `part`. Several records may name the path, if
    /// a process ended after it had removed the file of one of them.
    private func recordOfPart(_ part: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadRecord?
    {
        let disk = services.disk
        let file = try await services.onDisk { () throws(DiskError) in try disk.status(part) }
        return try await services.store.find(partPath: part, besides: record.id, of: file)
    }

    /// Removes an unfinished film that an ended process left for the same download and whose log is lost. No other
    /// task removes that film, and this download's film needs its path.
    private func discardFilmOfTwin(at part: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard record.resource?.stream != nil,
            let other = try await services.store.find(partPath: part, besides: record.id),
            other.resource?.stream == .assembling, Self.isSame(other, record),
            other.ownerNumber.map(services.store.owner.isAlive) != true
        else { return }
        try await discardFilm(of: other)
        try await services.store.remove(other.id)
    }

    /// Whether this download is a film, and another film is at the path where this one would be put together. No task
    /// of this store removes that film: its log is lost, or a process with another store made it.
    private func hasFilmOfAnother(beside part: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> Bool
    {
        guard record.resource?.stream != nil, try await services.exists(Self.filmPath(part)) else { return false }
        let other = try await services.store.find(partPath: part, besides: record.id)
        return other.map { Self.isSame($0, record) } != true
    }

    /// Whether two records describe the same download, started by two processes.
    private static func isSame(_ one: DownloadRecord, _ other: DownloadRecord) -> Bool {
        // The user added two separate downloads on purpose.
        if [one.request, other.request].contains(where: { $0.onDuplicate == .addAnyway }) { return false }
        if one.file != nil, one.file == other.file { return true }
        return one.request.url == other.request.url && one.request.destination == other.request.destination
            && one.request.key == other.request.key && one.request.asksTheSame(as: other.request)
    }

    /// Opens and locks the partial file of an earlier run. Returns `nil` if the file is gone or is another file by now.
    ///
    /// - Parameter isWanted: whether to continue the wait.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/inUse`` when another process runs the download.
    func reopenPart(
        _ path: String,
        while isWanted: (DownloadTask) -> Bool = { _ in true },
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> (any DiskFile)? {
        try await finishSwap(of: record)
        let (placement, record, began) = (services.placement, record, services.time.now())
        while true {
            do throws(DownloadError) {
                return try await services.runBlocking { () throws(DownloadError) in
                    try placement.reopenPart(path, expecting: record.part, owner: record.ownerPID)
                }
            } catch {
                guard error.code == .inUse, isWanted(self), isWorthWaiting(for: record.ownerNumber, since: began) else {
                    throw error
                }
            }
            await waitForLock()
        }
    }

    /// Keeps a locked partial file open, and tracks the ranges that are written to it.
    func hold(_ file: any DiskFile, _ persisted: PersistedRanges) {
        marks.forgetNote()
        // Bytes in memory are not recorded.
        let onMilestone: @Sendable () -> Void
        if file.isInMemory { onMilestone = {} } else { onMilestone = progressSignal }
        part = PartFile(
            file,
            persisted: persisted,
            executor: services.executor,
            now: services.time.now,
            onMilestone: onMilestone
        )
    }
}
