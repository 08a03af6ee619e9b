internal import DequeModule
internal import Foundation
internal import Logging

/// The end of a file: under its final name, out of the way, or gone.
extension Downloader {
    /// Syncs the file, puts it under its name, and makes the name durable.
    func publish(_ task: DownloadTask) async {
        do throws(DownloadError) {
            try await moveToDisk(task)
            guard let part = task.part, let path = task.record.finalPath, let request = task.record.request else {
                throw DownloadError(.internalFault, "The partial file is gone.")
            }
            // What the machine verified, whatever has become of the marks since.
            let expected = task.machine.persisted.prefix
            guard expected == task.machine.resource?.total ?? expected else {
                throw DownloadError(.internalFault, "The file is not complete: \(expected) bytes are on disk.")
            }
            let modified =
                request.setsModificationTime
                ? task.machine.resource?.validator.lastModified.flatMap(HTTPDate.parse) : nil
            do throws(DiskError) { try await part.checkLength(expected) } catch { throw DownloadError(error) }
            task.record.part = try await onDisk { () throws(DiskError) in
                let size = try part.file.status().size
                // More than belongs to the file can only be left from a reservation or an earlier, longer version.
                if size > expected { try part.file.truncate(expected) }
                if let modified { try part.file.setModificationTime(secondsSince1970: modified.timeIntervalSince1970) }
                return try part.file.status()
            }
            let persisted: PersistedRanges
            do throws(DiskError) { persisted = try await part.sync() } catch { throw DownloadError(error) }
            guard persisted.synced.prefix == expected else {
                throw DownloadError(
                    .diskFailed,
                    "The file could not be synced to the disk. The bytes that were synced are kept."
                )
            }
            let published = try await takeName(path, request.conflictPolicy, part, persisted, task)
            task.record.partPath = nil
            task.record.finished = try await status(of: part.file)
            send(.published(path: published), to: task)
        } catch {
            send(.stepFailed(error), to: task)
        }
    }

    /// Records each name durably before it is tried: a crash right after the renaming can then be understood.
    private func takeName(
        _ path: String,
        _ policy: DownloadRequest.ConflictPolicy,
        _ part: PartFile,
        _ persisted: PersistedRanges,
        _ task: DownloadTask
    ) async throws(DownloadError) -> String {
        let placement = placement
        for name in placement.names(for: path, policy: policy) {
            task.record.status = .publishing
            task.record.finalPath = name
            try await store.commit(task.record, persisted, durably: true)
            try await checkFolder(of: name, task.record)
            let length = persisted.synced.prefix
            // Right before the renaming: the file may have been cut while it was synced.
            do throws(DiskError) { try await part.checkLength(length) } catch { throw DownloadError(error) }
            let isPublished = try await runBlocking { () throws(DownloadError) in
                try placement.publish(part.file, as: name, policy: policy, length: length)
            }
            if isPublished { return name }
        }
        throw FilePlacement.noFreeName(path)
    }

    func setAside(_ task: DownloadTask) async {
        await tryToMoveToDisk(task)
        guard let file = task.part?.file, !file.isInMemory else { return }
        let placement = placement
        do throws(DownloadError) {
            let target = try await runBlocking { () throws(DownloadError) in try placement.setAside(file) }
            logger.debug("set aside as \(target)")
        } catch { logger.debug("\(error)") }
        task.record.forgetPart()
        do {
            try await store.commit(task.record, .zero)
        } catch { logger.debug("store: \(error)") }
    }

    func discardPartial(_ task: DownloadTask) async {
        await task.part?.drain()
        if let path = task.record.partPath {
            let placement = placement
            let record = task.record
            do throws(DownloadError) {
                var held = task.part?.file
                if held == nil {
                    // Not ours to delete if another process has it, or if it is another file by now.
                    held = try await runBlocking { () throws(DownloadError) in
                        try placement.reopenPart(path, expecting: record.part, owner: record.ownerProcess)
                    }
                }
                if let held, record.wishes.isRepair == true, let name = record.finalPath {
                    // It was the user's before it was ours.
                    try await onDisk { () throws(DiskError) in
                        try placement.move(held, from: path, to: name, replacing: false)
                    }
                } else if let held, !held.isInMemory {
                    try await onDisk { () throws(DiskError) in try placement.remove(held) }
                }
            } catch {
                logger.debug("\(error)")
                // Another process is at it: the download is its own now.
                if error.code == .inUse { return }
            }
        }
        do throws(DownloadError) {
            // One that was let go of may be another process's by now.
            if configuration.restoration == .onRequest, try await !store.claim(task.record.id) { return }
            try await store.remove(task.record.id)
            task.isForgotten = true
        } catch { logger.debug("store: \(error)") }
    }

    func releaseFile(_ task: DownloadTask) async {
        await task.part?.drain()
        // A failure that left nothing to go on with leaves no litter either; removed while the lock is still held.
        if let part = task.part, !part.file.isInMemory, task.isStopped, part.persisted.count == 0,
            task.record.wishes.isRepair != true
        {
            let placement = placement
            do throws(DownloadError) {
                try await onDisk { () throws(DiskError) in try placement.remove(part.file) }
                task.record.forgetPart()
                store.note(task.record)
            } catch { logger.debug("\(error)") }
        }
        // A sync or a digest may still hold the file for a while; the lock must not wait for that.
        task.part?.file.unlock()
        task.part = nil
        if fileIsReleased(task), task.machine.state != .cancelled { store.note(task.record) }
    }

    /// - Returns: whether the record has changed. Its state has too, which ``report(_:)`` is about to record: noted before
    ///   that, it would say of a finished file that it is about to be published.
    @discardableResult
    func fileIsReleased(_ task: DownloadTask) -> Bool {
        pool.removeWorkers(of: task.id)
        task.uncheckedPieces.removeAll()
        // From here on another process may take it up.
        task.hasNoDiskState = false
        guard task.ownsRecord, task.record.owner != nil else { return false }
        task.record.owner = nil
        return true
    }
}
