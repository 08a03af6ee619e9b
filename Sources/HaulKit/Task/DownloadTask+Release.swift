internal import Logging

/// Ends the use of a partial file: sets it aside, deletes it, or closes it for another run.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    func setAside(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        await tryToMoveToDisk()
        guard let file = part?.file, !file.isInMemory else { return nil }
        let (disk, placement) = (services.disk, services.placement)
        do throws(DownloadError) {
            if let damaged = record.damagedFile, let name = record.finalPath {
                // Every piece matches its digest, so the partial file is better than the damaged one.
                try await services.onDisk { () throws(DiskError) in
                    guard try disk.status(name)?.isUnchanged(since: damaged) == true else { return }
                    try placement.move(file, from: file.path, to: name, replacing: true)
                }
            } else if record.isRepair, let name = record.finalPath {
                // The file belonged to the user before the download.
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
                // `reopenPart` throws if another process has the file, and returns `nil` if the path now has another
                // file. Neither file is deleted.
                if held == nil { held = try await reopenPart(path) }
                if held != nil { try await discardFilm(of: record) }
                if let held, record.isRepair, record.damagedFile == nil, let name = record.finalPath {
                    // The file belonged to the user before the download.
                    try await giveBack(held, as: name)
                } else if let held, !held.isInMemory {
                    try await services.onDisk { () throws(DiskError) in try placement.discard(held) }
                }
            } catch {
                services.logger.debug("\(error)")
                // Another process runs the download and owns it now.
                if error.code == .inUse { return nil }
            }
        }
        do throws(DownloadError) {
            // Another process may own a released download by now.
            if environment.configuration.storage.restoration == .onRequest, try await !services.store.claim(record.id) {
                return nil
            }
            try await services.store.remove(record.id)
            ownership.rowRemoved()
        } catch { services.logger.debug("store: \(error)") }
        return nil
    }

    func releaseFile(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        await part?.drain()
        // After a failure or a hold for lack of space, removes a partial file that no run can use, while the file is
        // still locked.
        if let part, !part.file.isInMemory, isStopped, !record.isRepair || record.damagedFile != nil,
            await isUseless(part)
        {
            let placement = services.placement
            let hasBytes = part.persisted.count > 0
            do throws(DownloadError) {
                try await services.onDisk { () throws(DiskError) in try placement.discard(part.file) }
                record.forgetPart()
                if hasBytes { try await services.store.commit(record, .zero) } else { services.store.note(record) }
            } catch { services.logger.debug("\(error)") }
        }
        // Releases the lock now, because a sync or a digest may still use the file for a while.
        part?.file.unlock()
        part = nil
        if fileIsReleased(), machine.state != .cancelled { services.store.note(record) }
        return nil
    }

    /// Whether no run can use a partial file: it is empty, or the log of a film that failed without a whole segment.
    private func isUseless(_ part: PartFile, isolation: isolated (any Actor)? = #isolation) async -> Bool {
        if part.persisted.count == 0 { return true }
        guard case .failed = machine.state, machine.resource?.stream?.isLog == true else { return false }
        return await hasNoSegment(part)
    }

    /// Ends the use of the file and gives up the ownership of the record.
    ///
    /// - Returns: whether the record has changed. A caller that runs before ``report()`` must not note the record,
    ///   because ``report()`` is about to change the status. The old status would show a finished file as about to be
    ///   published.
    @discardableResult
    func fileIsReleased() -> Bool {
        environment.pool.removeWorkers(of: id)
        pieces.removeAll()
        // Another process may run the download from now on.
        smallFile.hasNoDiskState = false
        guard ownership.isOwned, record.ownerNumber != nil else { return false }
        record.ownerNumber = nil
        return true
    }
}
