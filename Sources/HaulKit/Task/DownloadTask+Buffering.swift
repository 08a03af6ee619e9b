internal import Foundation
internal import Logging

/// Small files: nothing of them is on the disk before all of their bytes are here, so that many can be brought there at
/// once. One that takes its time, or does not end as it should, goes to the disk alone, like any other file.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Nothing has to be looked at for a download that is new: its record is ours, and nothing of it is on the disk.
    ///
    /// - Returns: nil where something has to be looked at.
    func recoverAtOnce() -> DownloadMachine.Event? {
        guard hasNoDiskState, part == nil, record.partPath == nil, pendingSteps == 0 else {
            return nil
        }
        // A named file that is there may decide the matter, or be continued.
        guard record.request.adopts == nil else { return nil }
        guard record.file == nil || record.request.conflictPolicy == .overwrite else { return nil }
        guard !environment.space.mayLackSpace(self) else { return nil }
        // Another process may be at the same download, or done with it.
        guard !services.store.hasMetOthers else { return nil }
        record.startedAt = record.startedAt ?? services.time.date()
        lastSync = services.time.now()
        return .recovered(nil)
    }

    /// Makes a small file ready, in memory.
    ///
    /// A file that is not complete soon moves to the disk: a crash costs it no more than any download.
    ///
    /// - Returns: nil when the file belongs on the disk from the beginning.
    func bufferAtOnce(_ id: DownloadMachine.ConnectionID, _ preparation: DownloadMachine.Preparation)
        -> DownloadMachine.Event?
    {
        guard hasNoDiskState, part == nil, preparation.startsOver, pendingSteps == 0,
            machine.settings.pieces == nil, record.request.root == nil,
            let total = preparation.resource.total, BufferedFile.isFor(total)
        else { return nil }
        // The other policies want to know of a file that is there before a byte comes.
        let policy = record.request.conflictPolicy
        guard policy == .rename || policy == .overwrite, environment.space.hasPlentyOfSpace(self) else { return nil }
        let path = record.path(preparation)
        record.resource = preparation.resource
        record.finalPath = path
        gatheringSince = services.time.now()
        let file = BufferedFile(FilePaths.part(of: path), capacity: Int(clamping: max(total, 0)))
        hold(file, .zero)
        if let checksum = machine.settings.checksum ?? preparation.resource.digest {
            part?.keepDigest(checksum.algorithm)
        }
        return .prepared(id)
    }

    /// Puts what has gathered on the disk. Nothing happens where it is there already.
    ///
    /// - Returns: how the download ends when another process has put the file there; nil otherwise.
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
            // As for every file: the store knows it before a byte goes into it.
            try await services.store.commit(record, .zero, durably: true)
            try await services.onDisk { () throws(DiskError) in try gathered.move(into: file) }
            return nil
        } catch {
            // The bytes are in memory still: publishing tries again, with a file of its own.
            isRefusedByDisk = true
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

    /// - Returns: false when nothing of the file is on the disk.
    @discardableResult
    func tryToMoveToDisk(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        if let part, part.file.isInMemory, part.persisted.count == 0 { return false }
        do throws(DownloadError) {
            if try await moveToDisk() == nil { return true }
            // Publishing asks once more, and ends the download.
            isRefusedByDisk = true
            return false
        } catch {
            services.logger.debug("\(error)")
            return false
        }
    }
}
