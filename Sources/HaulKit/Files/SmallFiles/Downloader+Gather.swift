internal import Foundation
internal import Logging

/// Small files: nothing of them is on the disk before all of their bytes are here, so that many can be brought there at
/// once. One that takes its time, or does not end as it should, goes to the disk alone, like any other file.
extension Downloader {
    /// Nothing has to be looked at for a download that is new: its record is ours, and nothing of it is on the disk.
    ///
    /// - Returns: false where something has to be looked at.
    func recoverAtOnce(_ entry: Entry) -> Bool {
        guard entry.isUntouched, entry.part == nil, entry.record.partPath == nil, entry.pendingSteps == 0 else {
            return false
        }
        // A named file that is there may decide the matter.
        guard entry.record.file == nil || entry.record.conflictPolicy == .overwrite else { return false }
        guard !mayLackRoom(entry) else { return false }
        entry.record.startedAt = entry.record.startedAt ?? time.date()
        entry.lastSync = time.now()
        send(.recovered(nil), to: entry)
        return true
    }

    /// Makes a small file ready, in memory.
    ///
    /// A file that is not complete soon moves to the disk: a crash costs it no more than any download.
    ///
    /// - Returns: false when the file belongs on the disk from the beginning.
    func gather(_ id: DownloadMachine.ConnectionID, _ preparation: DownloadMachine.Preparation, _ entry: Entry) -> Bool
    {
        guard entry.isUntouched, entry.part == nil, preparation.startsOver, entry.pendingSteps == 0,
            entry.machine.settings.pieces == nil, entry.record.wishes.root == nil,
            let total = preparation.resource.total, GatheredFile.isFor(total)
        else { return false }
        // The other policies want to know of a file that is there before a byte comes.
        let policy = entry.record.conflictPolicy
        guard policy == .rename || policy == .overwrite, let path = entry.record.path(preparation),
            hasPlentyOfRoom(entry)
        else { return false }
        entry.record.resource = preparation.resource
        entry.record.finalPath = path
        entry.gatheringSince = time.now()
        let file = GatheredFile(FilePaths.part(of: path), capacity: Int(clamping: max(total, 0)))
        hold(file, .zero, entry)
        if let checksum = entry.machine.settings.checksum ?? preparation.resource.digest {
            entry.part?.keepDigest(checksum.algorithm)
        }
        send(.prepared(id), to: entry)
        return true
    }

    /// A file that is still not complete three quarters of a mark interval after it began is from here on one like any other.
    func gathers(_ entry: Entry, at now: Instant) {
        // One that has just turned out to be complete may be on its way to the disk with others.
        guard case .transferring = entry.machine.state, entry.pendingSteps == 0, !entry.isRefusedByDisk,
            now - entry.gatheringSince >= configuration.markInterval * 3 / 4
        else { return }
        entry.lastSync = now
        bringToDisk(entry)
    }

    /// Puts on the disk what has gathered, and claims it.
    func bringToDisk(_ entry: Entry) {
        step(entry) { downloader, entry in
            // Where the disk does not want it, publishing will say so.
            if await downloader.tryToMoveToDisk(entry), let part = entry.part { downloader.note(part, entry) }
        }
    }

    /// Puts what has gathered on the disk. Nothing happens where it is there already.
    func moveToDisk(_ entry: Entry) async throws(DownloadError) {
        guard let gathered = entry.part?.file as? GatheredFile, gathered.isInMemory,
            let path = entry.record.finalPath
        else { return }
        try await createFolder(of: path, entry.record)
        let file = try await createPart(path, entry.record.conflictPolicy, entry)
        do throws(DownloadError) {
            // As for every file: the store knows it before a byte goes into it.
            try await store.commit(entry.record, .zero, durably: true)
            try await onDisk { () throws(DiskError) in try gathered.move(into: file) }
        } catch {
            // The bytes are in memory still: publishing tries again, with a file of its own.
            entry.isRefusedByDisk = true
            let publication = publication
            do throws(DownloadError) {
                try await onDisk { () throws(DiskError) in try publication.remove(file) }
                entry.record.forgetPart()
                entry.record.finalPath = path
                store.note(entry.record)
            } catch { logger.debug("\(error)") }
            throw error
        }
    }

    /// - Returns: false when nothing of the file is on the disk.
    @discardableResult
    func tryToMoveToDisk(_ entry: Entry) async -> Bool {
        if let part = entry.part, part.file.isInMemory, part.mark.count == 0 { return false }
        do throws(DownloadError) {
            try await moveToDisk(entry)
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
