internal import Foundation

extension Downloader {
    /// Counts a change of state.
    func count(_ task: DownloadTask) {
        countBytes(task)
        switch task.machine.state {
        case .completed where task.alreadyExisted || task.existingFile != nil: break
        case .completed:
            let record = task.record
            metrics.complete(after: record.startedAt.flatMap { record.finishedAt?.timeIntervalSince($0) })
        case .failed(let error): metrics.fail(error.code)
        case .cancelled: metrics.cancel()
        case .backingOff: metrics.retry()
        case .paused: if !isShuttingDown, let hold = task.machine.hold { metrics.hold(hold) }
        default: break
        }
    }

    /// Counts the bytes received since the last call. Bytes of earlier runs are not counted.
    func countBytes(_ task: DownloadTask) {
        let count = task.machine.persisted.count
        switch task.machine.state {
        case .queued, .inspectingDisk, .awaitingURL, .choosing, .comparing, .connecting, .preparing: break
        default: if count > task.countedBytes { metrics.receive(count - task.countedBytes) }
        }
        task.countedBytes = count
    }
}
