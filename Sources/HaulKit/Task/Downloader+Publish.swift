internal import DequeModule
internal import Foundation
internal import Logging

/// The end of a file: under its final name, out of the way, or gone.
extension Downloader {
    /// Syncs the file, puts it under its name, and makes the name durable.
    func publish(_ entry: Entry) async {
        do throws(DownloadError) {
            try await moveToDisk(entry)
            guard let part = entry.part, let path = entry.record.finalPath, let request = entry.record.request else {
                throw DownloadError(.internalFault, "The partial file is gone.")
            }
            // What the machine verified, whatever has become of the marks since.
            let expected = entry.machine.mark.prefix
            guard expected == entry.machine.resource?.total ?? expected else {
                throw DownloadError(.internalFault, "The file is not complete: \(expected) bytes are here.")
            }
            let modified =
                request.setsModificationTime
                ? entry.machine.resource?.validator.lastModified.flatMap(HTTPDate.parse) : nil
            do throws(DiskError) { try await part.checkLength(expected) } catch { throw DownloadError(error) }
            entry.record.part = try await onDisk { () throws(DiskError) in
                let size = try part.file.status().size
                // More than belongs to the file can only be left from a reservation or an earlier, longer version.
                if size > expected { try part.file.truncate(expected) }
                if let modified { try part.file.setModificationTime(secondsSince1970: modified.timeIntervalSince1970) }
                return try part.file.status()
            }
            let mark: Mark
            do throws(DiskError) { mark = try await part.sync() } catch { throw DownloadError(error) }
            guard mark.synced.prefix == expected else {
                throw DownloadError(
                    .diskFailed,
                    "The file could not be brought to the disk. What surely arrived is kept."
                )
            }
            let published = try await takeName(path, request.conflictPolicy, part, mark, entry)
            entry.record.partPath = nil
            entry.record.finished = try await status(of: part.file)
            send(.published(path: published), to: entry)
        } catch {
            send(.stepFailed(error), to: entry)
        }
    }

    /// Records each name durably before it is tried: a crash right after the renaming can then be understood.
    private func takeName(
        _ path: String,
        _ policy: DownloadRequest.ConflictPolicy,
        _ part: PartFile,
        _ mark: Mark,
        _ entry: Entry
    ) async throws(DownloadError) -> String {
        let publication = publication
        for name in publication.names(for: path, policy: policy) {
            entry.record.status = .publishing
            entry.record.finalPath = name
            try await store.commit(entry.record, mark, durably: true)
            try await checkFolder(of: name, entry.record)
            let isPublished = try await offActor { () throws(DownloadError) in
                try publication.publish(part.file, as: name, policy: policy)
            }
            if isPublished { return name }
        }
        throw Publication.noFreeName(path)
    }

    func setAside(_ entry: Entry) async {
        await tryToMoveToDisk(entry)
        guard let file = entry.part?.file, !file.isInMemory else { return }
        let publication = publication
        do throws(DownloadError) {
            let target = try await offActor { () throws(DownloadError) in try publication.setAside(file) }
            logger.debug("set aside as \(target)")
        } catch { logger.debug("\(error)") }
        entry.record.forgetPart()
        do {
            try await store.commit(entry.record, .zero)
        } catch { logger.debug("store: \(error)") }
    }

    func discardPartial(_ entry: Entry) async {
        await entry.part?.drain()
        if let path = entry.record.partPath {
            let publication = publication
            let record = entry.record
            do throws(DownloadError) {
                var held = entry.part?.file
                if held == nil {
                    // Not ours to delete if another process has it, or if it is another file by now.
                    held = try await offActor { () throws(DownloadError) in
                        try publication.reopenPart(path, expecting: record.part, owner: record.ownerProcess)
                    }
                }
                if let held, record.wishes.isRepair == true, let name = record.finalPath {
                    // It was the user's before it was ours.
                    try await onDisk { () throws(DiskError) in
                        try publication.move(held, from: path, to: name, replacing: false)
                    }
                } else if let held, !held.isInMemory {
                    try await onDisk { () throws(DiskError) in try publication.remove(held) }
                }
            } catch {
                logger.debug("\(error)")
                // Another process is at it: the download is its own now.
                if error.code == .inUse { return }
            }
        }
        do throws(DownloadError) {
            // One that was let go of may be another process's by now.
            if configuration.restoration == .onRequest, try await !store.claim(entry.record.id) { return }
            try await store.remove(entry.record.id)
        } catch { logger.debug("store: \(error)") }
    }

    func releaseFile(_ entry: Entry) async {
        await entry.part?.drain()
        // A failure that left nothing to go on with leaves no litter either; removed while the lock is still held.
        if let part = entry.part, !part.file.isInMemory, entry.isStopped, part.mark.count == 0,
            entry.record.wishes.isRepair != true
        {
            let publication = publication
            do throws(DownloadError) {
                try await onDisk { () throws(DiskError) in try publication.remove(part.file) }
                entry.record.forgetPart()
                store.note(entry.record)
            } catch { logger.debug("\(error)") }
        }
        // A sync or a digest may still hold the file for a while; the lock must not wait for that.
        entry.part?.file.unlock()
        entry.part = nil
        if fileIsReleased(entry), entry.machine.state != .cancelled { store.note(entry.record) }
    }

    /// - Returns: whether the record has changed. Its state has too, which ``report(_:)`` is about to record: noted before
    ///   that, it would say of a finished file that it is about to be published.
    @discardableResult
    func fileIsReleased(_ entry: Entry) -> Bool {
        openWorkers.removeAll(of: entry.id)
        entry.uncheckedPieces.removeAll()
        // From here on another process may take it up.
        entry.isUntouched = false
        guard entry.isOurs, entry.record.owner != nil else { return false }
        entry.record.owner = nil
        return true
    }
}
