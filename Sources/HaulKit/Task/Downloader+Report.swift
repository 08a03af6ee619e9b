internal import Foundation
internal import Logging

/// Recording a change of state and telling the listeners.
extension Downloader {
    func report(_ task: DownloadTask) {
        let state = task.machine.state
        task.record.resource = task.machine.resource
        task.record.total = task.size ?? task.total
        task.record.error = nil
        task.record.hold = nil
        switch state {
        case .queued:
            task.record.status = .queued
            task.record.finishedAt = nil
            task.alreadyExisted = false
            if queue.runs(task.id) {
                // Its slot was taken away and given back while a step was under way.
                step(task) { $0.start($1) }
            } else {
                queue.enqueue(task.queueItem)
            }
        case .paused:
            // A shut down is not the user's wish to pause: what ran shall run again.
            task.record.status = isShuttingDown ? .queued : .paused
            if !isShuttingDown, let hold = task.machine.hold {
                task.record.hold = hold
                task.record.error = SpaceError.waiting(hold, task.record)
            }
        case .completed:
            task.record.status = .completed
            task.record.proof = task.proof
            task.record.finishedAt = task.record.finishedAt ?? time.date()
        case .failed(let error):
            task.record.status = .failed
            task.record.error = error
            task.record.finishedAt = time.date()
        case .publishing, .cancelled: break
        case .inspectingDisk, .awaitingURL, .choosing, .comparing, .connecting, .preparing, .transferring, .backingOff,
            .verifying:
            task.record.status = .queued
            task.record.finishedAt = nil
        }
        switch state {
        case .paused, .completed, .failed, .cancelled:
            queue.leave(task.id)
            pool.forget(task.id)
        default: break
        }
        noteDiskUse(task)
        count(task)
        if task.isOnlyAnAttempt {
            forget(task)
        } else if state != .cancelled, task.ownsRecord, !(task.hasNoDiskState && task.record.status == .queued) {
            store.note(task.record)
        }
        let now = time.now()
        let snapshot = snapshot(of: task, at: now)
        let outcome = outcome(of: task)
        // Before the listeners: who hears that a run has ended and waits for its hooks finds them told.
        tellHooks(task, snapshot)
        // After the steps that led here: who hears that a run has ended finds its file closed and its record written.
        if task.pendingSteps == 0 {
            announce(snapshot, outcome, task)
        } else {
            step(task) { downloader, task in
                var snapshot = snapshot
                // The last bytes may have come to the disk in those steps.
                if task.machine.state == state, task.size == nil {
                    snapshot.receivedBytes = task.machine.persisted.count
                }
                downloader.announce(snapshot, outcome, task)
            }
        }
        logger.debug("\(task.id): \(snapshot.state.rawValue)")
    }

    private func forget(_ task: DownloadTask) {
        guard task.ownsRecord else { return }
        step(task) { downloader, task in
            do throws(DownloadError) {
                try await downloader.store.remove(task.record.id)
                task.isForgotten = true
            } catch { downloader.logger.debug("store: \(error)") }
        }
    }

    func outcome(of task: DownloadTask) -> DownloadOutcome? {
        switch task.machine.state {
        case .completed(let path):
            .completed(
                CompletedDownload(
                    id: task.id,
                    path: path,
                    bytes: task.size ?? task.machine.persisted.count,
                    proof: task.proof,
                    alreadyExisted: task.alreadyExisted
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
