internal import Foundation
internal import Logging

/// Keeping up with the bytes: how far they have come, noted five times a second and synced every few.
extension Downloader {
    /// One ticker for all downloads; it ends when none transfers.
    func startTicker() {
        guard ticker == nil else { return }
        let sleep = time.sleep
        let interval = configuration.markInterval / Self.looksPerMark
        ticker = Task { [weak self] in
            var looks = 0
            while (try? await sleep(interval)) != nil {
                looks += 1
                guard await self?.tick(marks: looks % Self.looksPerMark == 0) == true else { return }
            }
        }
    }

    private static let looksPerMark = 4

    /// - Parameter marks: false between two marks, when only those that share a file among connections are looked at: what a
    ///   slow one costs grows with the time that it is left alone.
    private func tick(marks: Bool) -> Bool {
        var isAnyActive = false
        for id in queue.running {
            guard let entry = entries[id], case .transferring = entry.machine.state else { continue }
            isAnyActive = true
            if marks {
                mark(entry)
            } else if entry.machine.transfer.isShared, let part = entry.part {
                entry.machine.note(isHeldBack: entry.speedLimit.isEffective)
                send(.bytesLanded(part.mark), to: entry)
            }
        }
        if marks { watchGrowth() }
        if !isAnyActive { ticker = nil }
        return isAnyActive
    }

    /// Takes over how far the bytes have come, notes it, and syncs when it is time.
    func mark(_ entry: Entry) {
        guard case .transferring = entry.machine.state, let part = entry.part else { return }
        let now = time.now()
        let mark = part.mark
        let isInMemory = part.file.isInMemory
        if !isInMemory, mark != entry.machine.mark { store.note(mark, of: entry.record.id) }
        entry.machine.note(isHeldBack: entry.speedLimit.isEffective)
        send(.bytesLanded(mark), to: entry)
        countBytes(entry)
        part.catchUp()
        entry.meter.record(mark.count, at: now)
        let snapshot = entry.snapshot(at: now)
        entry.hub.progressed(snapshot)
        if broadcast.isHeard { broadcast.tell(.progressed(snapshot), group: snapshot.group) }
        if isInMemory { return gathers(entry, at: now) }
        if now - entry.lastSync >= configuration.syncInterval, !entry.isSyncing, mark.written != mark.synced {
            entry.isSyncing = true
            Task { await self.sync(entry, part) }
        }
    }

    private func sync(_ entry: Entry, _ part: PartFile) async {
        do throws(DiskError) {
            try await makeNameDurable(entry, part)
            _ = try await part.sync()
            // A claim that a power loss may take back would be worth nothing: surely, then.
            if entry.part === part, case .transferring = entry.machine.state {
                // The version may have got another name, once its bytes had been compared.
                entry.record.resource = entry.machine.resource
                do throws(DownloadError) {
                    try await store.commit(entry.record, part.mark, durably: true)
                } catch { logger.debug("store: \(error)") }
            }
        } catch {
            if entry.part === part, case .transferring = entry.machine.state {
                send(.bytesLanded(part.mark), to: entry)
                send(.stepFailed(DownloadError(error)), to: entry)
            }
        }
        entry.lastSync = time.now()
        entry.isSyncing = false
        mark(entry)
    }

    private func makeNameDurable(_ entry: Entry, _ part: PartFile) async throws(DiskError) {
        guard entry.needsFolderSync else { return }
        let disk = disk
        let folder = FilePaths.folder(of: part.path)
        try await offActor { () throws(DiskError) in try disk.syncFolder(folder) }
        entry.needsFolderSync = false
    }

    func checkpoint(_ entry: Entry) async {
        guard let part = entry.part else {
            if entry.isOurs { store.note(entry.record) }
            return
        }
        await part.drain()
        guard await tryToMoveToDisk(entry) else { return send(.bytesLanded(.zero), to: entry) }
        do throws(DiskError) {
            try await makeNameDurable(entry, part)
            _ = try await part.sync()
        } catch {
            // The mark has fallen back to what is surely there.
            logger.debug("sync: \(error.sentence)")
        }
        let mark = part.mark
        send(.bytesLanded(mark), to: entry)
        do {
            try await store.commit(entry.record, mark)
        } catch { logger.debug("store: \(error)") }
    }
}
