internal import Foundation
internal import HaulKit
internal import Logging

/// Regular checks of running downloads: partial files that other workers may continue, and bodies that do not end.
extension ItemDownloads {
    /// Copies the partial file that another worker left for the item, if there is one. Returns whether it was copied.
    func takesPartial(of lease: LeasedItem) async -> Bool {
        guard let partials, lease.key.epoch > 1, lease.checksum != nil else { return false }
        do {
            // If this worker has a partial file, the downloader continues it, and no other worker's file is copied.
            guard try await downloader.find(key: Self.key(lease.key.item)) == nil else { return false }
            return try await BlockingExecutor.system.run { () throws(FleetError) in try partials.take(lease.key.item) }
        } catch {
            logger.debug("fleet: item \(lease.key.item) starts over: \(error)")
            return false
        }
    }

    /// Records the received ranges of large partial files beside them, so that another worker can continue the files.
    func keepPartials() async {
        while true {
            do { try await Task.sleep(for: .seconds(5)) } catch { return }
            for (number, item) in items where item.lease.checksum != nil {
                let snapshot = item.download.snapshot
                guard let partials, let total = snapshot.totalBytes, snapshot.state == .transferring,
                    snapshot.receivedBytes >= SharedPartials.leastBytes
                else { continue }
                do throws(FleetError) {
                    try await BlockingExecutor.system.run { () throws(FleetError) in
                        try partials.keep(number, snapshot.receivedRanges, total: total)
                    }
                } catch { logger.debug("fleet: \(error)") }
            }
        }
    }

    /// Ends bodies without a length that are already longer than the size in the list.
    func watch() async {
        for item in items.values where !item.isSuspended {
            let snapshot = item.download.snapshot
            guard let size = item.lease.size, snapshot.totalBytes == nil, snapshot.receivedBytes > size else {
                continue
            }
            await suspendNow(item.lease.key)
            leftovers.markEndless(item.lease.key.item)
            let failure = Failure("contentChanged", "The server sends more than the \(size) bytes that the list names.")
            end(item.lease.key, .failed(failure, isRetryable: true, retryAfter: nil))
        }
    }
}
