internal import Foundation
internal import Logging

/// Small files: nothing of them is on the disk before all of their bytes are here, so that many can be brought there at
/// once. One that takes its time, or does not end as it should, goes to the disk alone, like any other file.
extension Downloader {
    /// Nothing has to be looked at for a download that is new: its record is ours, and nothing of it is on the disk.
    ///
    /// - Returns: false where something has to be looked at.
    func recoverAtOnce(_ task: DownloadTask) -> Bool {
        guard task.hasNoDiskState, task.part == nil, task.record.partPath == nil, task.pendingSteps == 0 else {
            return false
        }
        // A named file that is there may decide the matter.
        guard task.record.file == nil || task.record.conflictPolicy == .overwrite else { return false }
        guard !space.mayLackRoom(task) else { return false }
        task.record.startedAt = task.record.startedAt ?? time.date()
        task.lastSync = time.now()
        send(.recovered(nil), to: task)
        return true
    }

    /// Makes a small file ready, in memory.
    ///
    /// A file that is not complete soon moves to the disk: a crash costs it no more than any download.
    ///
    /// - Returns: false when the file belongs on the disk from the beginning.
    func gather(_ id: DownloadMachine.ConnectionID, _ preparation: DownloadMachine.Preparation, _ task: DownloadTask)
        -> Bool
    {
        guard task.hasNoDiskState, task.part == nil, preparation.startsOver, task.pendingSteps == 0,
            task.machine.settings.pieces == nil, task.record.wishes.root == nil,
            let total = preparation.resource.total, BufferedFile.isFor(total)
        else { return false }
        // The other policies want to know of a file that is there before a byte comes.
        let policy = task.record.conflictPolicy
        guard policy == .rename || policy == .overwrite, let path = task.record.path(preparation),
            space.hasPlentyOfRoom(task)
        else { return false }
        task.record.resource = preparation.resource
        task.record.finalPath = path
        task.gatheringSince = time.now()
        let file = BufferedFile(FilePaths.part(of: path), capacity: Int(clamping: max(total, 0)))
        hold(file, .zero, task)
        if let checksum = task.machine.settings.checksum ?? preparation.resource.digest {
            task.part?.keepDigest(checksum.algorithm)
        }
        send(.prepared(id), to: task)
        return true
    }

    /// A file that is still not complete three quarters of a mark interval after it began is from here on one like any other.
    func gathers(_ task: DownloadTask, at now: Instant) {
        // One that has just turned out to be complete may be on its way to the disk with others.
        guard case .transferring = task.machine.state, task.pendingSteps == 0, !task.isRefusedByDisk,
            now - task.gatheringSince >= configuration.markInterval * 3 / 4
        else { return }
        task.lastSync = now
        bringToDisk(task)
    }

    /// Puts on the disk what has gathered, and claims it.
    func bringToDisk(_ task: DownloadTask) {
        step(task) { downloader, task in
            // Where the disk does not want it, publishing will say so.
            if await downloader.tryToMoveToDisk(task), let part = task.part { downloader.note(part, task) }
        }
    }

    /// Puts what has gathered on the disk. Nothing happens where it is there already.
    func moveToDisk(_ task: DownloadTask) async throws(DownloadError) {
        guard let gathered = task.part?.file as? BufferedFile, gathered.isInMemory,
            let path = task.record.finalPath
        else { return }
        try await createFolder(of: path, task.record)
        let file = try await createPart(path, task.record.conflictPolicy, task)
        do throws(DownloadError) {
            // As for every file: the store knows it before a byte goes into it.
            try await store.commit(task.record, .zero, durably: true)
            try await onDisk { () throws(DiskError) in try gathered.move(into: file) }
        } catch {
            // The bytes are in memory still: publishing tries again, with a file of its own.
            task.isRefusedByDisk = true
            let placement = placement
            do throws(DownloadError) {
                try await onDisk { () throws(DiskError) in try placement.remove(file) }
                task.record.forgetPart()
                task.record.finalPath = path
                store.note(task.record)
            } catch { logger.debug("\(error)") }
            throw error
        }
    }

    /// - Returns: false when nothing of the file is on the disk.
    @discardableResult
    func tryToMoveToDisk(_ task: DownloadTask) async -> Bool {
        if let part = task.part, part.file.isInMemory, part.persisted.count == 0 { return false }
        do throws(DownloadError) {
            try await moveToDisk(task)
            return true
        } catch {
            logger.debug("\(error)")
            return false
        }
    }
}

extension DownloadRecord {
    /// The folder that a path must not leave by a symbolic link; nil where the user chose every part of it.
    func root(of path: String) -> String? {
        wishes.root.flatMap { FolderWalk.parts(of: path, beneath: $0) == nil ? nil : $0 }
    }

    var conflictPolicy: DownloadRequest.ConflictPolicy {
        wishes.onConflict ?? (file == nil ? .rename : .fail)
    }

    /// Where the file is to go, now that the answer is here.
    func path(_ preparation: DownloadMachine.Preparation) -> String? {
        if let file { return file }
        return folder.map { folder in
            FilePaths.join(
                folder,
                FileName.choose(
                    contentDisposition: preparation.contentDisposition,
                    suggested: wishes.suggestedName,
                    isNumbered: wishes.isNameNumbered ?? false,
                    urls: preparation.nameSources,
                    mediaType: preparation.resource.contentCoding == nil ? preparation.resource.contentType : nil
                )
            )
        }
    }
}
