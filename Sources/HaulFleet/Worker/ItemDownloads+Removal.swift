internal import Foundation
internal import HaulKit
internal import Logging

/// Cleans up after items that have ended. Keeps partial files for a later lease and removes everything else in groups.
extension ItemDownloads {
    func discardNow(_ key: LeaseKey, _ keepsBytes: Bool) async {
        guard let item = items[key.item], item.lease.key == key else { return }
        items[key.item] = nil
        pacer.release(item.lease)
        links?.remove(key: Self.key(key.item))
        if let partials, item.lease.checksum != nil, !keepsBytes {
            let takesOthers = key.epoch > 1
            await BlockingExecutor.system.run {
                partials.forget(key.item)
                if takesOthers { partials.removeOfOthers(key.item) }
            }
        }
        let snapshot = item.download.snapshot
        let isEndless = leftovers.takeEndlessMark(key.item)
        if keepsBytes, !isEndless, snapshot.receivedBytes > 0, snapshot.state != .completed {
            await attempt { () throws(DownloadError) in try await item.download.pause() }
            leftovers.keep(key.item, item.download.id)
            leftovers.giveUpOldest()
        } else {
            leftovers.giveUp(key.item, item.download.id, stagedPath: item.stagedPath)
        }
        if leftovers.isRemovalDue { return await removeUnwanted() }
        removeSoon()
    }

    private func removeSoon() {
        guard leftovers.planRemoval() else { return }
        Task {
            // Nothing cancels this task, so the sleep does not end early.
            try? await Task.sleep(for: .seconds(1))
            leftovers.plannedRemovalBegan()
            inbox.yield(.removeUnwanted)
        }
    }

    /// Seconds for which the partial file of an item is kept in case this worker gets the item again. The first
    /// registration after that removes the file.
    private static let longestKept: Double = 86_400

    func removeUnwanted() async {
        guard leftovers.hasUnwanted else { return }
        // Postpones the removal while the folder is missing. Otherwise only the rows would be removed, and files
        // without rows would reappear with their file system.
        guard await hasStagingFolder() else { return removeSoon() }
        let unwanted = leftovers.takeUnwanted()
        let (complete, others) = (unwanted.filter { $0.stagedPath != nil }, unwanted.filter { $0.stagedPath == nil })
        if !complete.isEmpty {
            let paths = complete.compactMap(\.stagedPath)
            // Removes the files before the rows. If the process ends in between, the next registration removes the rows
            // that are left.
            for (path, error) in await BlockingExecutor.system.run({ StagingFolder.remove(paths) }) {
                logger.debug("fleet: \(path) stays: error \(error.code)")
            }
            await attempt { () throws(DownloadError) in _ = try await downloader.remove(.ids(complete.map(\.id))) }
        }
        guard !others.isEmpty else { return }
        await attempt { () throws(DownloadError) in
            _ = try await downloader.remove(.ids(others.map(\.id)), deletingFiles: true)
        }
        // Removes files with a wrong digest too. The downloader keeps them for a person, and nobody looks here.
        let wrong = others.map { "\(stagingFolder)/\($0.item).wrong-digest" }
        _ = await BlockingExecutor.system.run { StagingFolder.remove(wrong) }
    }

    /// Cleans up the downloads of earlier processes, after a registration. Removes the finished files of items without
    /// a lease, because they are published or their items belong to another worker. Keeps partial files, except empty
    /// and old ones. Removes all files if the worker has another queue now.
    func keepOnlyNow(_ leases: [LeasedItem], _ isSameQueue: Bool) async {
        let held = Set(leases.map { Self.key($0.key.item) })
        await attempt { () throws(DownloadError) in
            for snapshot in try await downloader.list() {
                guard let key = snapshot.key, !held.contains(key) || !isSameQueue, let item = Self.item(key),
                    items.values.allSatisfy({ $0.download.id != snapshot.id })
                else { continue }
                let isOld = snapshot.addedAt < Date(timeIntervalSinceNow: -Self.longestKept)
                if snapshot.state == .completed || snapshot.receivedBytes == 0 || isOld || !isSameQueue {
                    leftovers.giveUp(item, snapshot.id)
                } else if !leftovers.isKept(snapshot.id) {
                    leftovers.keep(item, snapshot.id)
                }
            }
            leftovers.giveUpOldest()
            await removeUnwanted()
            let needed = Set(leases.map(\.key.item)).union(items.keys).union(leftovers.keptItems)
            let folder = stagingFolder
            await BlockingExecutor.system.run { StagingFolder.removeAll(in: folder, besides: needed) }
        }
    }

    func forgetFinishedNow() async {
        let kept = leftovers.keptItems
        guard !kept.isEmpty else { return }
        do throws(FleetError) {
            let finished = try await queue.finished(kept)
            guard !finished.isEmpty else { return }
            leftovers.giveUp(finished: finished)
            await removeUnwanted()
        } catch { logger.debug("fleet: partial files of items that are over stay for now: \(error)") }
    }
}
