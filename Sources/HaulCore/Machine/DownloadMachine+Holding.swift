/// Holds: pauses that outside conditions begin and end. They never act against the user's wish.
extension DownloadMachine {
    /// Stops the download as a pause does. Leaves a paused, held or failed download unchanged. A second hold reason is
    /// not lost: when the first hold ends, the downloader checks all reasons before it grants a slot.
    package mutating func held(_ reason: HoldReason) -> [Action] {
        switch state {
        case .paused, .failed: []
        // Only work on the disk remains, so a hold for another reason than space has no effect.
        case .verifying where !reason.isOfDisk, .publishing where !reason.isOfDisk: []
        default: stop(.hold(reason))
        }
    }

    /// Queues the download if this reason holds it.
    package mutating func holdEnded(_ reason: HoldReason) -> [Action] {
        if wish == .hold(reason) { wish = .yield }
        guard state == .paused, hold == reason else { return [] }
        hold = nil
        state = .queued
        patience.forgive()
        return [.report]
    }

    /// Handles a step that failed because too many files are open. After a wait of `waitForFiles`, in which other files
    /// may be closed, the download starts from the inspection of the disk.
    mutating func waitForFiles(_ error: DownloadError, at now: Instant) -> [Action] {
        var closing: [Action] = []
        switch state {
        case .inspectingDisk, .publishing, .verifying: break
        case .preparing(let id, _, let ended): closing = ended == nil ? [.close(id)] : []
        case .transferring: closing = transfer.closeAll()
        default: return []
        }
        return closing
            + settleOr { machine in
                machine.restTimer.noteClosedFile()
                return machine.link.stopAsking() + [.checkpoint, .releaseFile]
                    + machine.rest(Self.waitForFiles, because: error, at: now)
            }
    }
}
