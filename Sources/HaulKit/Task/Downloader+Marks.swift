internal import Foundation
internal import Logging

/// Keeping up with the bytes: how far they have come, noted ten times a second and synced every few.
extension Downloader {
    /// One ticker for all downloads; it ends when none transfers.
    func startTicker() {
        guard ticker == nil else { return }
        let sleep = time.sleep
        let interval = configuration.markInterval / Self.looksPerMark
        ticker = Task { [weak self] in
            var look = 0
            while (try? await sleep(interval)) != nil {
                look += 1
                guard await self?.tick(look) == true else { return }
            }
        }
    }

    private static let looksPerMark = 4
    /// The store is told more often than the listeners. From the arrival of a byte until a SIGKILL cannot cost it any more,
    /// three waits add up: for the sink's flush (50 ms at most), for the store to be told (half a mark interval), and for
    /// the store to write. Together they must stay within a quarter of a second.
    private static let looksPerNote = 2

    /// At every look those that share a file among connections are looked at: what a slow connection costs grows with the
    /// time that it is left alone. Everything else waits for a note or a mark.
    private func tick(_ look: Int) -> Bool {
        let isMark = look % Self.looksPerMark == 0
        var isAnyActive = false
        for id in queue.running {
            guard let entry = entries[id], case .transferring = entry.machine.state else { continue }
            isAnyActive = true
            if isMark {
                mark(entry)
            } else if let part = entry.part {
                // What the machine has heard of says nothing about what the store was told.
                if look % Self.looksPerNote == 0 { note(part, entry) }
                if part.file.isInMemory { gathers(entry, at: time.now()) }
                guard entry.machine.transfer.isShared else { continue }
                entry.machine.note(isHeldBack: entry.speedLimit.isEffective)
                send(.bytesLanded(part.mark), to: entry)
            }
        }
        if isMark { watchGrowth() }
        if !isAnyActive { ticker = nil }
        return isAnyActive
    }

    /// Tells the store how far the bytes have come, where that has changed since it was told last. The bytes of a file in
    /// memory are nothing that could be claimed.
    func note(_ part: PartFile, _ entry: Entry) {
        guard !part.file.isInMemory else { return }
        let mark = part.mark
        guard mark != entry.notedMark else { return }
        entry.notedMark = mark
        store.note(mark, of: entry.record.id)
    }

    /// The transfer is over for now: nobody looks at the bytes any more until the next one begins, which may take minutes.
    /// What is still on its way to the disk is waited for, and the store is told of it.
    func noteLast(_ entry: Entry) {
        guard let part = entry.part, Self.isBetweenTransfers(entry) else { return }
        if part.file.isInMemory {
            // A complete one is about to be published, with others.
            if !entry.machine.isComplete { bringToDisk(entry) }
            return
        }
        Task {
            await part.drain()
            if entry.part === part, Self.isBetweenTransfers(entry) { note(part, entry) }
        }
    }

    /// Another question is about to be asked, or all is here and the disk is waited for. While an answer is being prepared
    /// for, the bytes may be forgotten; a step that ends a run records its marks itself.
    private static func isBetweenTransfers(_ entry: Entry) -> Bool {
        switch entry.machine.state {
        case .asking, .choosing, .comparing, .connecting, .resting: true
        default: entry.machine.isComplete
        }
    }

    /// Takes over how far the bytes have come, notes it, and syncs when it is time.
    func mark(_ entry: Entry) {
        guard case .transferring = entry.machine.state, let part = entry.part else { return }
        let now = time.now()
        let mark = part.mark
        let isInMemory = part.file.isInMemory
        note(part, entry)
        entry.machine.note(isHeldBack: entry.speedLimit.isEffective)
        send(.bytesLanded(mark), to: entry)
        countBytes(entry)
        part.catchUp()
        entry.meter.record(mark.count, at: now)
        let snapshot = snapshot(of: entry, at: now)
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
            try await checkPlace(part)
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

    /// What was moved away or replaced could not be published in the end: better to hear of it now.
    private func checkPlace(_ part: PartFile) async throws(DiskError) {
        let publication = publication
        let stands = try await offActor { () throws(DiskError) in
            try publication.stands(part.file, at: part.path)
        }
        guard stands else { throw DiskError(.replaced, call: "lstat", path: part.path) }
    }

    private func makeNameDurable(_ entry: Entry, _ part: PartFile) async throws(DiskError) {
        guard entry.needsFolderSync else { return }
        let disk = disk
        let folder = FilePaths.folder(of: part.path)
        entry.needsFolderSync = false
        do throws(DiskError) { try await offActor { () throws(DiskError) in try disk.syncFolder(folder) } } catch {
            entry.needsFolderSync = true
            throw error
        }
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
        } catch {
            logger.debug("store: \(error)")
            // The store still claims bytes that the disk has lost.
            if part.syncFailure != nil {
                do throws(DiskError) { try await part.cutToSynced() } catch { logger.debug("cut: \(error.sentence)") }
            }
        }
    }
}
