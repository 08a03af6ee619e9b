/// No space on the disk or in the quota: a write failed with `ENOSPC`, or the ``SpaceMonitor`` found too little. The download is
/// held, or fails where ``Settings/waitsForSpace`` is off; ``SpaceHolds`` ends the hold when there is space again.
extension DownloadMachine {
    /// A step found no disk space, or bytes that arrive come too near to what is to be kept free.
    mutating func spaceMissing(_ reason: HoldReason?, _ error: DownloadError) -> [Action] {
        switch state {
        case .inspectingDisk, .publishing: settleOr { $0.waitForSpace(reason, error) }
        case .preparing(let id, _, let ended):
            (ended == nil ? [.close(id)] : []) + settleOr { $0.waitForSpace(reason, error) }
        case .transferring: transfer.closeAll() + waitForSpace(reason, error)
        default: []
        }
    }

    /// A write or a sync of the file failed with this error.
    ///
    /// - Returns: nil where it is not for want of space, or where the download is not to wait for any.
    mutating func holdIfDiskIsFull(_ error: DownloadError) -> [Action]? {
        error.code == .diskFull && settings.waitsForSpace ? settle(.hold(.diskFull)) : nil
    }

    private mutating func waitForSpace(_ reason: HoldReason?, _ error: DownloadError) -> [Action] {
        guard let reason, settings.waitsForSpace else { return giveUp(error) }
        return settle(.hold(reason))
    }
}

extension HoldReason {
    /// Whether it is disk space that is missing.
    var isOfDisk: Bool {
        switch self {
        case .diskFull, .quota: true
        case .offline, .metered, .outsideHours: false
        }
    }
}
