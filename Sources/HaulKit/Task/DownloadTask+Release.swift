internal import DequeModule
internal import Logging

/// The end of a partial file: out of the way, deleted, or closed for another run.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    func setAside(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        await tryToMoveToDisk()
        guard let file = part?.file, !file.isInMemory else { return nil }
        let (disk, placement) = (services.disk, services.placement)
        do throws(DownloadError) {
            if let damaged = record.damagedFile, let name = record.finalPath {
                // Every piece has its digest, which is more than the damaged file has.
                try await services.onDisk { () throws(DiskError) in
                    guard try disk.status(name)?.isUnchanged(since: damaged) == true else { return }
                    try placement.move(file, from: file.path, to: name, replacing: true)
                }
            } else if record.isRepair, let name = record.finalPath {
                // It was the user's before it was ours.
                try await giveBack(file, as: name)
            } else {
                let target = try await services.runBlocking { () throws(DownloadError) in try placement.setAside(file) }
                services.logger.debug("set aside as \(target)")
            }
        } catch { services.logger.debug("\(error)") }
        record.forgetPart()
        do {
            try await services.store.commit(record, .zero)
        } catch { services.logger.debug("store: \(error)") }
        return nil
    }

    func discardPartial(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        await part?.drain()
        if let path = record.partPath {
            let placement = services.placement
            do throws(DownloadError) {
                var held = part?.file
                // Not ours to delete if another process has it, or if it is another file by now.
                if held == nil { held = try await reopenPart(path) }
                if let held, record.isRepair, record.damagedFile == nil, let name = record.finalPath {
                    // It was the user's before it was ours.
                    try await giveBack(held, as: name)
                } else if let held, !held.isInMemory {
                    try await services.onDisk { () throws(DiskError) in try placement.discard(held) }
                }
            } catch {
                services.logger.debug("\(error)")
                // Another process is at it: the download is its own now.
                if error.code == .inUse { return nil }
            }
        }
        do throws(DownloadError) {
            // One that was let go of may be another process's by now.
            if environment.configuration.storage.restoration == .onRequest, try await !services.store.claim(record.id) {
                return nil
            }
            try await services.store.remove(record.id)
            isForgotten = true
        } catch { services.logger.debug("store: \(error)") }
        return nil
    }

    func releaseFile(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        await part?.drain()
        // A failure that left nothing to go on with leaves no litter either; removed while the lock is still held.
        if let part, !part.file.isInMemory, isStopped, part.persisted.count == 0,
            !record.isRepair || record.damagedFile != nil
        {
            let placement = services.placement
            do throws(DownloadError) {
                try await services.onDisk { () throws(DiskError) in try placement.discard(part.file) }
                record.forgetPart()
                services.store.note(record)
            } catch { services.logger.debug("\(error)") }
        }
        // A sync or a digest may still hold the file for a while; the lock must not wait for that.
        part?.file.unlock()
        part = nil
        if fileIsReleased(), machine.state != .cancelled { services.store.note(record) }
        return nil
    }

    /// - Returns: whether the record has changed. Its state has too, which ``report()`` is about to record: noted before
    ///   that, it would say of a finished file that it is about to be published.
    @discardableResult
    func fileIsReleased() -> Bool {
        environment.pool.removeWorkers(of: id)
        uncheckedPieces.removeAll()
        // From here on another process may take it up.
        hasNoDiskState = false
        guard ownsRecord, record.ownerNumber != nil else { return false }
        record.ownerNumber = nil
        return true
    }
}
