internal import Foundation

/// Updates the metrics of a download.
extension DownloadTask {
    /// Counts a change of state.
    func count() {
        countBytes()
        switch machine.state {
        case .completed where earlierFile.exists: break
        case .completed:
            environment.metrics.complete(after: record.startedAt.flatMap { record.finishedAt?.timeIntervalSince($0) })
        case .failed(let error): environment.metrics.fail(error.code)
        case .cancelled: environment.metrics.cancel()
        case .backingOff: environment.metrics.retry()
        case .paused: if !environment.isShuttingDown, let hold = machine.hold { environment.metrics.hold(hold) }
        default: break
        }
    }

    /// Counts the bytes received since the last call. Bytes of earlier runs are not counted.
    func countBytes() {
        let count = marks.count(machine.persisted.count)
        switch machine.state {
        case .queued, .inspectingDisk, .awaitingURL, .choosing, .comparing, .connecting, .preparing: break
        default: if count > 0 { environment.metrics.receive(count) }
        }
    }
}
