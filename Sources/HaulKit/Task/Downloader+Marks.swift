internal import Foundation
internal import Logging

/// Keeping up with the bytes: how far they have come, noted ten times a second and synced every few.
extension Downloader {
    /// One ticker for all downloads; it ends when none transfers.
    func startTicker() {
        guard ticker == nil else { return }
        let sleep = time.tick
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
            guard let task = tasks[id], case .transferring = task.machine.state else { continue }
            isAnyActive = true
            if isMark {
                recordProgress(task)
            } else if let part = task.part {
                // What the machine has heard of says nothing about what the store was told.
                if look % Self.looksPerNote == 0 { note(part, task) }
                if part.file.isInMemory { gathers(task, at: time.now()) }
                guard task.machine.transfer.isShared else { continue }
                task.machine.note(isHeldBack: task.speedLimit.isEffective)
                send(.bytesLanded(part.persisted), to: task)
            }
        }
        if isMark { watchGrowth() }
        if !isAnyActive { ticker = nil }
        return isAnyActive
    }

    /// Tells the store how far the bytes have come, where that has changed since it was told last. The bytes of a file in
    /// memory are nothing that could be claimed.
    func note(_ part: PartFile, _ task: DownloadTask) {
        guard !part.file.isInMemory else { return }
        let persisted = part.persisted
        guard persisted != task.notedMark else { return }
        task.notedMark = persisted
        store.note(persisted, of: task.record.id)
    }

    /// The transfer is over for now: nobody looks at the bytes any more until the next one begins, which may take minutes.
    /// What is still on its way to the disk is waited for, and the store is told of it.
    func noteLast(_ task: DownloadTask) {
        guard let part = task.part, Self.isBetweenTransfers(task) else { return }
        if part.file.isInMemory {
            // A complete one is about to be published, with others.
            if !task.machine.isComplete { bringToDisk(task) }
            return
        }
        Task {
            await part.drain()
            if task.part === part, Self.isBetweenTransfers(task) { note(part, task) }
        }
    }

    /// Another question is about to be asked, or all is here and the disk is waited for. While an answer is being prepared
    /// for, the bytes may be forgotten; a step that ends a run records its marks itself.
    private static func isBetweenTransfers(_ task: DownloadTask) -> Bool {
        switch task.machine.state {
        case .awaitingURL, .choosing, .comparing, .connecting, .backingOff: true
        default: task.machine.isComplete
        }
    }

    /// Takes over how far the bytes have come, notes it, and syncs when it is time.
    func recordProgress(_ task: DownloadTask) {
        guard case .transferring = task.machine.state, let part = task.part else { return }
        let now = time.now()
        let persisted = part.persisted
        let isInMemory = part.file.isInMemory
        note(part, task)
        task.machine.note(isHeldBack: task.speedLimit.isEffective)
        send(.bytesLanded(persisted), to: task)
        countBytes(task)
        part.catchUp()
        task.meter.record(persisted.count, at: now)
        let snapshot = snapshot(of: task, at: now)
        task.hub.progressed(snapshot)
        if broadcast.isHeard { broadcast.tell(.progressed(snapshot), group: snapshot.group) }
        if isInMemory { return gathers(task, at: now) }
        if now - task.lastSync >= configuration.syncInterval, !task.isSyncing, persisted.written != persisted.synced {
            task.isSyncing = true
            Task { await self.sync(task, part) }
        }
    }

    private func sync(_ task: DownloadTask, _ part: PartFile) async {
        do throws(DiskError) {
            try await makeNameDurable(task, part)
            try await checkPlace(part)
            _ = try await part.sync()
            // A claim that a power loss may take back would be worth nothing: surely, then.
            if task.part === part, case .transferring = task.machine.state {
                // The version may have got another name, once its bytes had been compared.
                task.record.resource = task.machine.resource
                do throws(DownloadError) {
                    try await store.commit(task.record, part.persisted, durably: true)
                } catch { logger.debug("store: \(error)") }
            }
        } catch {
            if task.part === part, case .transferring = task.machine.state {
                send(.bytesLanded(part.persisted), to: task)
                send(.stepFailed(DownloadError(error)), to: task)
            }
        }
        task.lastSync = time.now()
        task.isSyncing = false
        recordProgress(task)
    }

    /// What was moved away or replaced could not be published in the end: better to hear of it now.
    private func checkPlace(_ part: PartFile) async throws(DiskError) {
        let placement = placement
        let stands = try await runBlocking { () throws(DiskError) in
            try placement.stands(part.file, at: part.path)
        }
        guard stands else { throw DiskError(.replaced, call: "lstat", path: part.path) }
    }

    private func makeNameDurable(_ task: DownloadTask, _ part: PartFile) async throws(DiskError) {
        guard task.needsFolderSync else { return }
        let disk = disk
        let folder = FilePaths.folder(of: part.path)
        task.needsFolderSync = false
        do throws(DiskError) { try await runBlocking { () throws(DiskError) in try disk.syncFolder(folder) } } catch {
            task.needsFolderSync = true
            throw error
        }
    }

    func checkpoint(_ task: DownloadTask) async {
        guard let part = task.part else {
            if task.ownsRecord { store.note(task.record) }
            return
        }
        await part.drain()
        guard await tryToMoveToDisk(task) else { return send(.bytesLanded(.zero), to: task) }
        do throws(DiskError) {
            try await makeNameDurable(task, part)
            _ = try await part.sync()
        } catch {
            // The mark has fallen back to what is surely there.
            logger.debug("sync: \(error.sentence)")
        }
        let persisted = part.persisted
        send(.bytesLanded(persisted), to: task)
        do {
            try await store.commit(task.record, persisted)
        } catch {
            logger.debug("store: \(error)")
            // The store still claims bytes that the disk has lost.
            if part.syncFailure != nil {
                do throws(DiskError) { try await part.cutToSynced() } catch { logger.debug("cut: \(error.sentence)") }
            }
        }
    }
}
