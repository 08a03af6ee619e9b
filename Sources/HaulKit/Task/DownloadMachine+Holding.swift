/// Pauses that heal themselves: begun and ended by what happens around the download, and never against the user's wish.
extension DownloadMachine {
    /// Stops as a pause does. What the user paused, and what is held already, stays as it is: what ends a hold looks at
    /// what else is in the way.
    mutating func held(_ reason: HoldReason) -> [Action] {
        switch state {
        case .paused, .failed: []
        // Nothing is fetched any more: what remains is the disk's business alone.
        case .verifying where !reason.isOfDisk, .publishing where !reason.isOfDisk: []
        default: stop(.hold(reason))
        }
    }

    /// Queues what this reason holds.
    mutating func holdEnded(_ reason: HoldReason) -> [Action] {
        if wish == .hold(reason) { wish = .yield }
        guard state == .paused, hold == reason else { return [] }
        hold = nil
        state = .queued
        patience.forgive()
        return [.report]
    }

    /// A step found that too many files are open: others will be closed, and then it is tried from the beginning.
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
                machine.recoversAfterRest = true
                return machine.link.stopAsking() + [.checkpoint, .releaseFile]
                    + machine.rest(Self.waitForFiles, because: error, at: now)
            }
    }
}
