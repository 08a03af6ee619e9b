internal import HaulKit

/// Limits the warnings about this machine's disk to one a minute of each kind.
struct DiskWarnings {
    private var warnedAt: [DownloadError.Code: ContinuousClock.Instant] = [:]

    /// - Returns: `true` at most once a minute for each code of a disk failure; `false` for other codes.
    mutating func isDue(_ code: DownloadError.Code) -> Bool {
        switch code {
        case .diskFull, .readOnly, .permissionDenied, .diskFailed, .tooManyOpenFiles, .storeFailed: break
        default: return false
        }
        let now = ContinuousClock.now
        if let last = warnedAt[code], last.duration(to: now) < .seconds(60) { return false }
        warnedAt[code] = now
        return true
    }
}
