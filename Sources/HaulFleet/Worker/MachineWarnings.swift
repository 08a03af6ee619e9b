internal import HaulKit

/// Limits the warnings about this machine to one a minute of each kind.
struct MachineWarnings {
    private var warnedAt: [DownloadError.Code: ContinuousClock.Instant] = [:]

    /// - Returns: `true` at most once a minute for each code that means trouble of this machine: a failure of its disk, or
    ///   no credentials for the source; `false` for other codes.
    mutating func isDue(_ code: DownloadError.Code) -> Bool {
        switch code {
        case .diskFull, .readOnly, .permissionDenied, .diskFailed, .tooManyOpenFiles, .storeFailed, .sourceFailed:
            break
        default: return false
        }
        let now = ContinuousClock.now
        if let last = warnedAt[code], last.duration(to: now) < .seconds(60) { return false }
        warnedAt[code] = now
        return true
    }
}
