internal import Foundation
internal import Logging

/// Recording a change of state and telling the listeners.
extension Downloader {
    func report(_ entry: Entry) {
        let state = entry.machine.state
        entry.record.resource = entry.machine.resource
        entry.record.total = entry.size ?? entry.total
        entry.record.error = nil
        entry.record.hold = nil
        switch state {
        case .queued:
            entry.record.status = .queued
            entry.wasThere = false
            if queue.runs(entry.id) {
                // Its slot was taken away and given back while a step was under way.
                step(entry) { $0.start($1) }
            } else {
                queue.enqueue(entry.queueItem)
            }
        case .paused:
            // A shut down is not the user's wish to pause: what ran shall run again.
            entry.record.status = isShuttingDown ? .queued : .paused
            if !isShuttingDown, let hold = entry.machine.hold {
                entry.record.hold = hold
                entry.record.error = Self.sentence(hold, entry.record)
            }
        case .completed:
            entry.record.status = .completed
            entry.record.proof = entry.proof
            entry.record.finishedAt = entry.record.finishedAt ?? time.date()
        case .failed(let error):
            entry.record.status = .failed
            entry.record.error = error
            entry.record.finishedAt = time.date()
        case .publishing, .cancelled: break
        case .recovering, .asking, .choosing, .comparing, .connecting, .preparing, .transferring, .resting, .verifying:
            entry.record.status = .queued
            entry.record.finishedAt = nil
        }
        switch state {
        case .paused, .completed, .failed, .cancelled:
            queue.leave(entry.id)
            hosts.forget(entry.id)
        default: break
        }
        noteDiskUse(entry)
        count(entry)
        if entry.isOnlyAnAttempt {
            forget(entry)
        } else if state != .cancelled, entry.isOurs, !(entry.isUntouched && entry.record.status == .queued) {
            store.note(entry.record)
        }
        let now = time.now()
        let snapshot = snapshot(of: entry, at: now)
        let outcome = outcome(of: entry)
        // Before the listeners: who hears that a run has ended and waits for its hooks finds them told.
        tellHooks(entry, snapshot)
        // After the steps that led here: who hears that a run has ended finds its file closed and its record written.
        if entry.pendingSteps == 0 {
            announce(snapshot, outcome, entry)
        } else {
            step(entry) { downloader, entry in
                var snapshot = snapshot
                // The last bytes may have come to the disk in those steps.
                if entry.machine.state == state, entry.size == nil {
                    snapshot.receivedBytes = entry.machine.mark.count
                }
                downloader.announce(snapshot, outcome, entry)
            }
        }
        logger.debug("\(entry.id): \(snapshot.state.rawValue)")
    }

    private func forget(_ entry: Entry) {
        guard entry.isOurs else { return }
        step(entry) { downloader, entry in
            do throws(DownloadError) {
                try await downloader.store.remove(entry.record.id)
            } catch { downloader.logger.debug("store: \(error)") }
        }
    }

    func outcome(of entry: Entry) -> DownloadOutcome? {
        switch entry.machine.state {
        case .completed(let path):
            .completed(
                CompletedDownload(
                    id: entry.id,
                    path: path,
                    bytes: entry.size ?? entry.machine.mark.count,
                    proof: entry.proof,
                    wasThere: entry.wasThere
                )
            )
        case .failed(let error): .failed(error)
        case .cancelled: .cancelled
        case .paused where isShuttingDown:
            .failed(DownloadError(.shutDown, "The downloader was shut down. What arrived is kept."))
        default: nil
        }
    }
}
