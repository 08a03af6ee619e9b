internal import Foundation

/// The partial file of a download: making it under a name that can be had, and holding it open.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// The partial file, under a name that can be had; the record knows it from here on.
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
        needsFolderSync = true
        hasNoDiskState = false
        return .done(file)
    }

    /// Finds a name that can be had, and locks a partial file for it. The first name that cannot be had may be that of the same file,
    /// which another process has completed.
    private func takeName(
        _ path: String,
        _ policy: DownloadRequest.ConflictPolicy,
        isolation: isolated (any Actor)? = #isolation
    )
        async throws(DownloadError) -> UnlessTwin<(any DiskFile, finalPath: String)>
    {
        try await services.checkFolder(of: path, record)
        // A file that is made before its record is written stays if the process is killed in between.
        if services.store.hasMetOthers, let ending = try await endingWithTwin() { return .notNeeded(ending) }
        var hasAsked = false
        for name in services.placement.names(for: path, policy: policy) {
            do throws(DownloadError) {
                if let file = try await takePart(of: name, policy) {
                    // An earlier name may have been waited for, while the other process completed the download.
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
            // The name may have been waited for, while another process completed the download.
            if !hasAsked || services.store.hasMetOthers, let ending = try await endingWithTwin() {
                return .notNeeded(ending)
            }
            hasAsked = true
        }
        throw FilePlacement.noFreeName(path)
    }

    /// Makes the partial file of this name, in the place of one that is empty, is of the same download, or is unknown and to be
    /// overwritten; nil to try another name.
    private func takePart(
        of name: String,
        _ policy: DownloadRequest.ConflictPolicy,
        isolation: isolated (any Actor)? = #isolation
    )
        async throws(DownloadError) -> (any DiskFile)?
    {
        let placement = services.placement
        let part = FilePaths.part(of: name)
        // The one that has just created and locked it records it in a moment; until then its owner is unknown. And one that
        // had it may be done with it just now.
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
                if let made { return made.file }
            case .hasPart: break
            }
            let other = try await services.store.find(partPath: part, besides: record.id)
            let claim: FilePlacement.Claim =
                other.map {
                    Self.isSame($0, record) ? .sameDownload(owner: $0.ownerPID, part: $0.part) : .anotherDownload
                }
                ?? .unknown
            switch try await services.runBlocking({ () throws(DownloadError) in
                try placement.takeOver(part, claimed: claim, policy: policy)
            }) {
            case .lockedBySame(let error):
                guard isWorthWaiting(for: other?.ownerNumber, since: began) else { throw error }
                tries = 0
                await waitForLock()
            case .taken(let file):
                // The one that had it until just now may have recorded it meanwhile.
                let claimant = try await services.store.find(partPath: part, besides: record.id)
                guard claimant?.id == other?.id else {
                    file.unlock()
                    continue
                }
                let new = try await services.runBlocking { () throws(DownloadError) in try placement.replace(file) }
                guard let new else { continue }
                // Its bytes are gone; they must not be claimed any more.
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

    /// Whether two records are of one download, begun by two processes.
    private static func isSame(_ one: DownloadRecord, _ other: DownloadRecord) -> Bool {
        // Added beside one another on purpose.
        if [one.request, other.request].contains(where: { $0.onDuplicate == .addAnyway }) { return false }
        return one.request.url == other.request.url && one.request.destination == other.request.destination
            || one.file != nil && one.file == other.file
    }

    /// Holds a partial file open, which is locked, and counts the bytes that go into it.
    func hold(_ file: any DiskFile, _ persisted: PersistedRanges) {
        notedMark = nil
        let isInMemory = file.isInMemory
        let onMark = onMark
        part = PartFile(file, persisted: persisted, executor: services.executor) {
            if !isInMemory { onMark() }
        }
    }
}
