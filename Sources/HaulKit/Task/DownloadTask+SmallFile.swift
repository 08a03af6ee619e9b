internal import Foundation
internal import Logging
internal import NIOCore

/// Small files: buffered until all bytes have arrived, so that many can be brought to the disk at once. A small file
/// that takes long or does not end normally goes to the disk alone, like any other file.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Recovers a new download without inspecting the disk. Its record belongs to this process, and nothing of the
    /// download is on the disk.
    ///
    /// - Returns: `nil` if the disk must be inspected.
    func recoverAtOnce() -> DownloadMachine.Event? {
        guard smallFile.hasNoDiskState, part == nil, record.partPath == nil, steps.isEmpty else {
            return nil
        }
        // An existing file at a known name may end the download, or be continued.
        guard record.request.adopts == nil else { return nil }
        guard record.file == nil || record.request.conflictPolicy == .overwrite else { return nil }
        guard !environment.space.mayLackSpace(self) else { return nil }
        // Another process may run the same download or have completed it.
        guard !services.store.hasMetOthers else { return nil }
        record.startedAt = record.startedAt ?? services.time.date()
        marks.restartInterval(at: services.time.now())
        return .recovered(nil)
    }

    /// Prepares a small file in memory.
    ///
    /// A file that does not become complete soon moves to the disk, so that a crash costs no more than with any other
    /// download.
    ///
    /// - Returns: `nil` if the file must be on the disk from the beginning.
    func bufferAtOnce(_ id: DownloadMachine.ConnectionID, _ preparation: DownloadMachine.Preparation)
        -> DownloadMachine.Event?
    {
        guard smallFile.hasNoDiskState, part == nil, preparation.startsOver, steps.isEmpty,
            machine.settings.pieces == nil,
            let total = preparation.resource.total, BufferedFile.isFor(total)
        else { return nil }
        // The other policies check for an existing file before the first byte arrives.
        let policy = record.request.conflictPolicy
        guard policy == .rename || policy == .overwrite, environment.space.hasPlentyOfSpace(self) else { return nil }
        let path = record.path(preparation)
        record.resource = preparation.resource
        record.finalPath = path
        smallFile.begin(at: services.time.now())
        let file = BufferedFile(FilePaths.part(of: path), capacity: Int(clamping: max(total, 0)))
        hold(file, .zero)
        if let checksum = machine.settings.checksum ?? preparation.resource.digest {
            part?.keepDigest(checksum.algorithm)
        }
        return .prepared(id)
    }

    /// Writes the buffered bytes to the disk. Does nothing if the file is already there.
    ///
    /// - Returns: the ending of the download if another process has completed the file; `nil` otherwise.
    func moveToDisk(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        guard let gathered = part?.file as? BufferedFile, gathered.isInMemory,
            let path = record.finalPath
        else { return nil }
        try await services.createFolder(of: path, record)
        let file: any DiskFile
        switch try await createPart(path, record.request.conflictPolicy) {
        case .done(let new): file = new
        case .notNeeded(let ending): return ending
        }
        do throws(DownloadError) {
            // The store knows every file before a byte is written to it.
            try await services.store.commit(record, .zero, durably: true)
            try await services.onDisk { () throws(DiskError) in try gathered.move(into: file) }
            return nil
        } catch {
            // The bytes are still in memory. Publishing tries again with a new file.
            smallFile.refusedByDisk()
            let placement = services.placement
            do throws(DownloadError) {
                try await services.onDisk { () throws(DiskError) in try placement.remove(file) }
                record.forgetPart()
                record.finalPath = path
                services.store.note(record)
            } catch { services.logger.debug("\(error)") }
            throw error
        }
    }

    /// Writes the buffered bytes to the disk, and logs an error.
    ///
    /// - Returns: `false` if nothing of the file is on the disk.
    @discardableResult
    func tryToMoveToDisk(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        if let part, part.file.isInMemory, part.persisted.count == 0 { return false }
        do throws(DownloadError) {
            if try await moveToDisk() == nil { return true }
            // Publishing checks again for the other process's file, and ends the download.
            smallFile.refusedByDisk()
            return false
        } catch {
            services.logger.debug("\(error)")
            return false
        }
    }

    // MARK: Batch

    /// Puts the created partial file into the record, before the batch commits the record.
    func startPublishing(_ made: BufferedFilePlacement.Made) {
        record.status = .publishing
        record.partPath = made.file.path
        record.finalPath = made.name
        record.part = made.identity
        smallFile.hasNoDiskState = false
    }

    /// Takes the result of the batch into the record.
    ///
    /// - Returns: the event for the machine; `nil` if the file must be published alone.
    func endPublication(_ made: BufferedFilePlacement.Made, _ ending: BufferedFilePlacement.Ending)
        -> DownloadMachine.Event?
    {
        let count = Int64(made.job.bytes.readableBytes)
        switch ending {
        case .published(let status):
            part = nil
            record.partPath = nil
            record.finished = status
            return .published(path: made.name)
        case .nameTaken(let file):
            hold(file, PersistedRanges(written: count, synced: count))
            return nil
        case .failed(let error, let file, let isSynced):
            hold(file, isSynced ? PersistedRanges(written: count, synced: count) : .zero)
            return .stepFailed(DownloadError(error))
        }
    }

    /// Resets the record as if the file had never been created.
    func withdrawPublication(_ made: BufferedFilePlacement.Made) {
        record.status = .queued
        record.forgetPart()
        record.finalPath = record.finalPath ?? made.job.path
        smallFile.hasNoDiskState = true
    }

    /// Returns when the download is in no batch.
    func leftBatch(isolation: isolated (any Actor)? = #isolation) async {
        while smallFile.bytesInBatch != nil { await withCheckedContinuation { smallFile.wait($0) } }
    }
}
