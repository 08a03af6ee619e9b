internal import Foundation

extension Downloader {
    /// Counts a change of state.
    func count(_ entry: Entry) {
        countBytes(entry)
        switch entry.machine.state {
        case .completed where entry.wasThere || entry.standing != nil: break
        case .completed:
            let record = entry.record
            metrics.complete(after: record.startedAt.flatMap { record.finishedAt?.timeIntervalSince($0) })
        case .failed(let error): metrics.fail(error.code)
        case .cancelled: metrics.cancel()
        case .resting: metrics.retry()
        case .paused: if !isShuttingDown, let hold = entry.machine.hold { metrics.hold(hold) }
        default: break
        }
    }

    /// Counts the bytes that came since it was last asked. What was there before the run did not come.
    func countBytes(_ entry: Entry) {
        let count = entry.machine.mark.count
        switch entry.machine.state {
        case .queued, .recovering, .asking, .choosing, .comparing, .connecting, .preparing: break
        default: if count > entry.countedBytes { metrics.receive(count - entry.countedBytes) }
        }
        entry.countedBytes = count
    }
}
