internal import Foundation
internal import Logging

/// Room on the disks: none is taken that is to be left free, and what finds none waits until there is some.
extension Downloader {
    private var spaceRule: SpaceRule { SpaceRule(reserve: configuration.reservedDiskSpace) }
    private var diskQuota: Int64? { configuration.diskQuota.map { max(0, $0) } }

    // MARK: Before bytes come

    /// Checks that the rest will fit, and reserves it.
    ///
    /// - Returns: what is to be said to the machine in place of success; nil where there is room.
    func makeRoom(_ total: Int64?, _ part: PartFile, _ task: DownloadTask) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        // What is in memory finds its room when it comes to the disk.
        guard !part.file.isInMemory else { return nil }
        let here = max(try await status(of: part.file).allocated, part.persisted.count)
        if let refusal = try await refusal(total, here: here, task) { return refusal }
        guard let total, total > here else { return nil }
        do throws(DiskError) {
            try await runBlocking { () throws(DiskError) in try part.file.reserve(total) }
        } catch {
            if error.kind == .full { await giveBack(part) }
            throw DownloadError(error)
        }
        return nil
    }

    /// What was reserved before the disk was full is of use to others.
    private func giveBack(_ part: PartFile) async {
        do throws(DiskError) {
            try await part.onWriteThread { () throws(DiskError) in try part.file.truncate(part.file.status().size) }
        } catch { logger.debug("truncate: \(error.sentence)") }
    }

    /// Looks for room before anything is asked of the network, as far as it is known how much is needed.
    ///
    /// - Parameter here: bytes of the file that the disk has, or has set aside.
    /// - Returns: as ``makeRoom(_:_:_:)``.
    func lacksRoom(_ task: DownloadTask, here: Int64) async throws(DownloadError) -> DownloadMachine.Event? {
        try await refusal(task.total, here: here, task)
    }

    private func refusal(_ total: Int64?, here: Int64, _ task: DownloadTask) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        if let refusal = try await quotaRefusal(total, here: here, task) { return refusal }
        let folder = task.record.folderOnDisk
        let isContended = space.isWaiting(in: folder)
        guard total.map({ $0 > here }) ?? (isContended || spaceRule.reserve > 0) else { return nil }
        guard let reading = await freeSpace(near: [folder])[folder] else { return nil }
        space.note(spaceRule.available(in: reading), in: folder, at: time.now())
        let path = task.record.partPath ?? folder
        switch spaceRule.decision(total: total, here: here, in: reading, isContended: isContended) {
        case .fits: return nil
        case .isMissing: return .spaceMissing(.diskFull, Self.isFull(path))
        case .isReserved: return .spaceMissing(.diskFull, Self.isReserved(path, spaceRule.reserve))
        case .never: return .spaceMissing(nil, Self.isFull(path))
        }
    }

    private func quotaRefusal(_ total: Int64?, here: Int64, _ task: DownloadTask) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        guard let quota = diskQuota else { return nil }
        try await countStored()
        let isTooLarge = total.map { $0 > quota } ?? false
        let left = quota - stored.used(besides: task.id)
        guard !isTooLarge, total ?? max(1, task.machine.persisted.count) <= left else {
            return .spaceMissing(isTooLarge ? nil : .quota, Self.isOverQuota(quota))
        }
        stored.set(task.id, total ?? task.machine.persisted.count, had: task.bytesAtRest)
        return nil
    }

    // MARK: Small files

    /// Whether a download that is new should look for room before it asks the network.
    func mayLackRoom(_ task: DownloadTask) -> Bool {
        let folder = task.record.folderOnDisk
        if space.isWaiting(in: folder) || (task.record.wishes.size ?? 0) > BufferedFile.mostBytes { return true }
        return spaceRule.reserve > 0 && !space.hasPlenty(in: folder, at: time.now())
    }

    /// Whether a small file may gather in memory without asking for room.
    func hasPlentyOfRoom(_ task: DownloadTask) -> Bool {
        let folder = task.record.folderOnDisk
        if let quota = diskQuota, !stored.isKnown || stored.used > quota - SpaceWatch.plenty { return false }
        guard spaceRule.reserve > 0 || space.isWaiting(in: folder) else { return true }
        return space.hasPlenty(in: folder, at: time.now())
    }

    // MARK: While bytes come

    /// Looks once a second whether files that grow come too near to what is to be kept free.
    func watchGrowth() {
        let now = time.now()
        guard spaceRule.reserve > 0 || diskQuota != nil, now - lastSpaceLook >= Self.spaceInterval else { return }
        lastSpaceLook = now
        let growing = queue.running.compactMap { tasks[$0] }
            .filter { $0.machine.state == .transferring && $0.part?.file.isInMemory == false }
        if let quota = diskQuota { watchQuota(growing.filter { $0.machine.resource?.total == nil }, quota) }
        if spaceRule.reserve > 0, !growing.isEmpty { Task { await watchReserve(growing.map(\.id)) } }
    }

    private func watchQuota(_ growing: [DownloadTask], _ quota: Int64) {
        guard !growing.isEmpty else { return }
        for task in growing { stored.set(task.id, task.machine.persisted.count, had: task.bytesAtRest) }
        guard stored.isKnown else {
            Task { do throws(DownloadError) { try await countStored() } catch { logger.debug("store: \(error)") } }
            return
        }
        for task in growing where stored.used > quota {
            send(.spaceMissing(.quota, Self.isOverQuota(quota)), to: task)
        }
    }

    private func watchReserve(_ ids: [DownloadID]) async {
        let present = ids.compactMap { tasks[$0] }
        let readings = await freeSpace(near: Array(Set(present.map(\.record.folderOnDisk))))
        for task in present {
            guard let reading = readings[task.record.folderOnDisk], spaceRule.available(in: reading) < 0,
                let part = task.part
            else { continue }
            let total = task.machine.resource?.total
            do throws(DownloadError) {
                let allocated = try await status(of: part.file).allocated
                // What has its room takes no more.
                if let total, allocated >= total { continue }
            } catch { logger.debug("\(error)") }
            guard task.part === part, task.machine.state == .transferring else { continue }
            send(.spaceMissing(.diskFull, Self.isReserved(part.path, spaceRule.reserve)), to: task)
        }
    }

    /// - Returns: by folder; those that say nothing are left out.
    func freeSpace(near folders: [String]) async -> [String: VolumeSpace] {
        let (disk, logger) = (disk, logger)
        return await runBlocking {
            var readings: [String: VolumeSpace] = [:]
            for folder in folders {
                do throws(DiskError) { readings[folder] = try disk.freeSpace(near: folder) } catch {
                    // Who makes the file will say it better.
                    logger.debug("\(error.sentence)")
                }
            }
            return readings
        }
    }

    // MARK: Counting

    /// Takes over what a change of state means for the room on the disk.
    func noteDiskUse(_ task: DownloadTask) {
        if task.machine.state == .paused, let hold = task.machine.hold, hold.isOfDisk, !isShuttingDown {
            waitForSpace(task, hold)
        } else {
            space.forget(task.id)
        }
        let (received, before) = (task.machine.persisted.count, task.bytesAtRest)
        switch task.machine.state {
        case .completed:
            space.forgetSurprises(task.id)
            let size = task.existingFile == nil ? task.record.finished?.size ?? received : 0
            if diskQuota != nil { stored.end(task.id, leaving: size, had: before) }
        case .cancelled:
            space.forgetSurprises(task.id)
            if diskQuota != nil { stored.end(task.id, leaving: 0, had: before) }
        case .queued, .paused, .failed:
            if diskQuota != nil { stored.end(task.id, leaving: before, had: before) }
        case .inspectingDisk, .awaitingURL, .choosing, .comparing, .connecting, .preparing, .transferring, .backingOff,
            .verifying,
            .publishing:
            if diskQuota != nil { stored.set(task.id, max(task.record.total ?? 0, received), had: before) }
        }
    }

    /// Asks the store, where what it said last is not true any more.
    func countStored() async throws(DownloadError) {
        // Each change of who runs meanwhile makes the sum a wrong one; in the end any is better than none.
        for attempt in 1...5 where !stored.isKnown {
            let generation = stored.generation
            let sum = try await store.storedBytes(besides: Array(stored.running.keys)).all
            stored.settle(sum, at: attempt == 5 ? stored.generation : generation)
        }
    }

    // MARK: Sentences

    static func sentence(_ hold: HoldReason, _ record: DownloadRecord) -> DownloadError? {
        switch hold {
        case .diskFull:
            DownloadError(
                .diskFull,
                "The disk of \(record.folderOnDisk) has no room for the file. The download goes on by itself when it has."
            )
        case .quota:
            DownloadError(
                .diskFull,
                "The downloads have used up their share of the disk. This one goes on by itself when there is room again."
            )
        case .offline, .metered, .outsideHours: nil
        }
    }

    private static func isFull(_ path: String) -> DownloadError {
        DownloadError(DiskError(.full, call: "statvfs", path: path))
    }

    private static func isReserved(_ path: String, _ reserve: Int64) -> DownloadError {
        DownloadError(
            .diskFull,
            "The disk that holds \(path) has no room but the \(reserve) bytes that are to be kept free. Free some space and run the same command again: what arrived is kept."
        )
    }

    private static func isOverQuota(_ quota: Int64) -> DownloadError {
        DownloadError(
            .diskFull,
            "The downloads may take no more than \(quota) bytes of the disk. Remove some and run the same command again: what arrived is kept."
        )
    }
}

extension DownloadRecord {
    /// Where its file lies, or is to lie.
    var folderOnDisk: String { (partPath ?? file).map(FilePaths.folder(of:)) ?? folder ?? "." }
}

extension DownloadTask {
    /// What an unfinished download takes while it does nothing: its whole length, which is set aside; nothing before its first
    /// byte. The store counts alike.
    var bytesAtRest: Int64 {
        let received = machine.persisted.count
        return received == 0 ? 0 : max(record.total ?? 0, received)
    }
}
