internal import Foundation
internal import Logging

/// Records a change of state and notifies the listeners.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    func report() {
        let state = machine.state
        updateRecord(state)
        switch state {
        case .paused, .completed, .failed, .cancelled:
            environment.delegate?.taskLeavesQueue(self)
            environment.pool.forget(id)
        case .backingOff(let until, _): environment.delegate?.taskBacksOff(self, for: until - services.time.now())
        // The download may have lost its slot and got another one during a step.
        case .queued where environment.delegate?.taskIsQueued(self) == true:
            step { task, _ in
                task.start()
                return nil
            }
        default: break
        }
        noteDiskUse()
        count()
        if isOnlyAnAttempt {
            removeRow()
        } else if state != .cancelled, ownership.isOwned, !(smallFile.hasNoDiskState && record.status == .queued) {
            services.store.note(record)
        }
        let now = services.time.now()
        let snapshot = present(at: now)
        let outcome = outcome
        // Notifies hooks before listeners, because a listener may wait for the hooks as soon as the end is announced.
        tellHooks(state, snapshot)
        // Notifies listeners after the pending steps, because the file must be closed and the record written when the
        // end is announced.
        if steps.isEmpty {
            announce(snapshot, outcome)
        } else {
            step { task, _ in
                var snapshot = snapshot
                // The steps before this one may have brought the last bytes to the disk.
                if task.machine.state == state, task.size == nil {
                    snapshot.receivedBytes = task.machine.persisted.count
                }
                task.announce(snapshot, outcome)
                return nil
            }
        }
        logState(snapshot)
    }

    /// Brings the record in line with a state of the machine.
    private func updateRecord(_ state: DownloadMachine.State) {
        if state == .queued { earlierFile = .none }
        record.take(machine.resource)
        record.total = size ?? total
        record.error = nil
        record.hold = nil
        switch state {
        case .queued, .inspectingDisk, .awaitingURL, .choosing, .comparing, .connecting, .preparing, .transferring,
            .backingOff, .verifying:
            record.status = .queued
            record.finishedAt = nil
        case .paused:
            // A shutdown is not a pause by the user. A download that ran is to run again after the next start.
            record.status = environment.isShuttingDown ? .queued : .paused
            if !environment.isShuttingDown, let hold = machine.hold {
                record.hold = hold
                let lackOfSpace = hold == .diskFull ? services.store.lackOfSpace : nil
                record.error = lackOfSpace ?? SpaceError.held(hold, record)
            }
        case .completed:
            record.status = .completed
            record.proof = proof
            record.finishedAt = record.finishedAt ?? services.time.date()
        case .failed(let error):
            record.status = .failed
            record.error = error
            record.finishedAt = services.time.date()
        case .publishing, .cancelled: break
        }
    }

    /// Updates the disk space wait list and the quota usage after a change of state.
    private func noteDiskUse() {
        if machine.state == .paused, let hold = machine.hold, hold.isOfDisk, !environment.isShuttingDown {
            environment.space.wait(self, hold)
            environment.delegate?.taskWaitsForSpace(self)
        } else {
            environment.space.forget(id)
        }
        environment.space.stateChanged(self)
    }

    /// Reports a state to hooks, after the steps that led to it.
    private func tellHooks(_ state: DownloadMachine.State, _ snapshot: DownloadSnapshot) {
        let (notifications, alreadyExisted) = (environment.notifications, earlierFile.exists)
        if steps.isEmpty || !notifications.hooks.isWanted {
            notifications.tellHooks(state, snapshot, alreadyExisted: alreadyExisted)
        } else {
            step { task, _ in
                task.environment.notifications.tellHooks(state, snapshot, alreadyExisted: alreadyExisted)
                return nil
            }
        }
    }

    /// Tells the listeners of the download and of the downloader.
    private func announce(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome?) {
        environment.notifications.announce(snapshot, outcome, hub, isForgotten: ownership.takeRemoval())
    }

    /// Announces the end of the download again, after it has been requested again.
    func reportAgain() {
        announce(present(), outcome)
        environment.notifications.noteRest(of: record.request.group)
        tellHooks(machine.state, hub.snapshot)
    }

    private func removeRow() {
        guard ownership.isOwned else { return }
        step { task, _ in
            do throws(DownloadError) {
                try await task.services.store.remove(task.record.id)
                task.ownership.rowRemoved()
            } catch { task.services.logger.debug("store: \(error)") }
            return nil
        }
    }

    private func completed(_ path: String) -> CompletedDownload {
        var completed = CompletedDownload(
            id: id,
            path: path,
            bytes: size ?? machine.persisted.count,
            proof: proof,
            alreadyExisted: earlierFile.exists,
            finalURL: machine.resource?.redirectedTo,
            gaps: machine.resource?.gapLines ?? []
        )
        completed.digest = digest
        completed.validator = machine.resource?.validator.text
        return completed
    }

    /// Outcome of the run; `nil` while it has not ended.
    var outcome: DownloadOutcome? {
        switch machine.state {
        case .completed(let path): .completed(completed(path))
        case .failed(let error): .failed(error)
        case .cancelled: .cancelled
        case .paused where environment.isShuttingDown:
            .failed(DownloadError(.shutDown, "The downloader was shut down. What arrived is kept."))
        default: nil
        }
    }
}
