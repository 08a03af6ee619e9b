internal import Foundation
internal import HaulKit
internal import Logging

/// Cleans up after items that have ended. Keeps partial files for a later lease and removes everything else in groups.
extension ItemDownloads {
    func discardNow(_ key: LeaseKey, _ keepsBytes: Bool) async {
        guard let item = items[key.item], item.lease.key == key else { return }
        items[key.item] = nil
        pacer.release(item.lease)
        if let partials, item.lease.checksum != nil, !keepsBytes {
            let takesOthers = key.epoch > 1
            await BlockingExecutor.system.run {
                partials.forget(key.item)
                if takesOthers { partials.removeOfOthers(key.item) }
            }
        }
        let snapshot = item.download.snapshot
        let isEndless = endless.remove(key.item) != nil
        if keepsBytes, !isEndless, snapshot.receivedBytes > 0, snapshot.state != .completed {
            await attempt { () throws(DownloadError) in try await item.download.pause() }
            kept.append((key.item, item.download.id))
            removeOldestKept()
        } else {
            unwanted.append((key.item, item.download.id, item.stagedPath))
        }
        if unwanted.count >= Self.removedTogether { return await removeUnwanted() }
        removeSoon()
    }

    private func removeSoon() {
        guard !removesSoon else { return }
        removesSoon = true
        Task {
            // Nothing cancels this task, so the sleep does not end early.
            try? await Task.sleep(for: .seconds(1))
            removesSoon = false
            inbox.yield(.removeUnwanted)
        }
    }

    private static let removedTogether = 256
    /// Seconds for which the partial file of an item is kept in case this worker gets the item again. The first
    /// registration after that removes the file.
    private static let longestKept: Double = 86_400

    private func removeOldestKept() {
        while kept.count > mostKept {
            let oldest = kept.removeFirst()
            unwanted.append((oldest.item, oldest.id, nil))
        }
    }

    func removeUnwanted() async {
        guard !unwanted.isEmpty else { return }
        // Without the folder, only the rows could be removed. The files would be back with their file system, and no
        // row would name them.
        guard await hasStagingFolder() else { return removeSoon() }
        let (complete, others) = (unwanted.filter { $0.stagedPath != nil }, unwanted.filter { $0.stagedPath == nil })
        unwanted = []
        if !complete.isEmpty {
            let paths = complete.compactMap(\.stagedPath)
            // Files come first: the next start removes a row without its file, but never a file without a row.
            for (path, error) in await BlockingExecutor.system.run({ StagingFolder.remove(paths) }) {
                logger.debug("fleet: \(path) stays: error \(error.code)")
            }
            await attempt { () throws(DownloadError) in _ = try await downloader.remove(.ids(complete.map(\.id))) }
        }
        guard !others.isEmpty else { return }
        await attempt { () throws(DownloadError) in
            _ = try await downloader.remove(.ids(others.map(\.id)), deletingFiles: true)
        }
        // The downloader keeps files with a wrong digest for a person.
        let wrong = others.map { "\(stagingFolder)/\($0.item).wrong-digest" }
        _ = await BlockingExecutor.system.run { StagingFolder.remove(wrong) }
    }

    /// Cleans up what earlier processes left, after a registration. Keeps partial files. Removes finished files of
    /// items without a lease, which are already published or belong to another worker now.
    func keepOnlyNow(_ leases: [Lease], _ isSameQueue: Bool) async {
        let held = Set(leases.map { Self.key($0.key.item) })
        await attempt { () throws(DownloadError) in
            for snapshot in try await downloader.list() {
                guard let key = snapshot.key, !held.contains(key) || !isSameQueue, let item = Self.item(key),
                    items.values.allSatisfy({ $0.download.id != snapshot.id })
                else { continue }
                let isOld = snapshot.addedAt < Date(timeIntervalSinceNow: -Self.longestKept)
                if snapshot.state == .completed || snapshot.receivedBytes == 0 || isOld || !isSameQueue {
                    unwanted.append((item, snapshot.id, nil))
                } else if !kept.contains(where: { $0.id == snapshot.id }) {
                    kept.append((item, snapshot.id))
                }
            }
            removeOldestKept()
            await removeUnwanted()
            let needed = Set(leases.map(\.key.item)).union(items.keys).union(kept.map(\.item))
            let folder = stagingFolder
            await BlockingExecutor.system.run { StagingFolder.removeAll(in: folder, besides: needed) }
        }
    }

    func forgetFinishedNow() async {
        guard !kept.isEmpty else { return }
        do throws(FleetError) {
            let finished = try await queue.finished(kept.map(\.item))
            guard !finished.isEmpty else { return }
            for (item, id) in kept where finished.contains(item) { unwanted.append((item, id, nil)) }
            kept.removeAll { finished.contains($0.item) }
            await removeUnwanted()
        } catch { logger.debug("fleet: partial files of items that are over stay for now: \(error)") }
    }
}
