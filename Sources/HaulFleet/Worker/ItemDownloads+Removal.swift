internal import Foundation
internal import HaulKit
internal import Logging

/// What becomes of downloads whose items are over: partial files are kept for a later lease, everything else is removed in groups.
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
            // Ends early only if the task is cancelled, which nothing does.
            try? await Task.sleep(for: .seconds(1))
            removesSoon = false
            inbox.yield(.removeUnwanted)
        }
    }

    private static let removedTogether = 256
    /// Seconds after which the partial file of an item that did not come back is removed at the next start.
    private static let longestKept: Double = 86_400

    private func removeOldestKept() {
        while kept.count > mostKept {
            let oldest = kept.removeFirst()
            unwanted.append((oldest.item, oldest.id, nil))
        }
    }

    func removeUnwanted() async {
        guard !unwanted.isEmpty else { return }
        // Removed without their folder, they would be there again when its file system is back, and known to no one.
        guard await hasStagingFolder() else { return removeSoon() }
        let (complete, others) = (unwanted.filter { $0.stagedPath != nil }, unwanted.filter { $0.stagedPath == nil })
        unwanted = []
        if !complete.isEmpty {
            let paths = complete.compactMap(\.stagedPath)
            // The files first: a row without its file is removed at the next start, a file without a row never.
            for (path, error) in await BlockingExecutor.system.run({ StagingFolder.remove(paths) }) {
                logger.debug("fleet: \(path) stays: error \(error.code)")
            }
            await attempt { () throws(DownloadError) in _ = try await downloader.remove(.ids(complete.map(\.id))) }
        }
        guard !others.isEmpty else { return }
        await attempt { () throws(DownloadError) in
            _ = try await downloader.remove(.ids(others.map(\.id)), deletingFiles: true)
        }
        // Kept by the downloader for a person to look at.
        let wrong = others.map { "\(stagingFolder)/\($0.item).wrong-digest" }
        _ = await BlockingExecutor.system.run { StagingFolder.remove(wrong) }
    }

    /// At the start: what earlier processes left. Partial files are kept, finished ones of other items are published already or
    /// are another worker's now.
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
