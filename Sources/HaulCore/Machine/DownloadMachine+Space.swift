/// Lack of space: a write failed with `ENOSPC`, or `SpaceMonitor.refusal` found too little space on the disk or in the
/// quota.
///
/// The machine holds the download, and the downloader ends the hold when there is space again. If
/// ``Settings/waitsForSpace`` is off, the download fails.
extension DownloadMachine {
    /// Handles a step that found too little space, or arriving bytes that take space of the reserve or exceed the
    /// quota.
    package mutating func spaceMissing(_ reason: HoldReason?, _ error: DownloadError) -> [Action] {
        switch state {
        case .inspectingDisk, .publishing: settleOr { $0.waitForSpace(reason, error) }
        case .preparing(let id, _, let ended):
            (ended == nil ? [.close(id)] : []) + settleOr { $0.waitForSpace(reason, error) }
        case .transferring: transfer.closeAll() + waitForSpace(reason, error)
        default: []
        }
    }

    /// Holds the download if `error` is a full disk and the download waits for space.
    ///
    /// - Returns: `nil` for any other error, or if the download does not wait for space.
    mutating func holdIfDiskIsFull(_ error: DownloadError) -> [Action]? {
        error.code == .diskFull && settings.waitsForSpace ? settle(.hold(.diskFull)) : nil
    }

    private mutating func waitForSpace(_ reason: HoldReason?, _ error: DownloadError) -> [Action] {
        guard let reason, settings.waitsForSpace else { return giveUp(error) }
        return settle(.hold(reason))
    }
}

extension HoldReason {
    /// Whether the reason is a lack of space on the disk or in the quota.
    package var isOfDisk: Bool {
        switch self {
        case .diskFull, .quota: true
        case .offline, .metered, .outsideHours: false
        }
    }
}
