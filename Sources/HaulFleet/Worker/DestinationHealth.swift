internal import HaulKit

/// Failures of the destination or of this machine's disk, and the pauses of claims that follow from them.
struct DestinationHealth: Sendable, Equatable {
    /// Number of failures in a row after which the destination counts as the cause.
    private static let failureLimit = 3

    /// Number of failures in a row.
    private var failures = 0
    /// End of the latest pause of claims; `nil` if there was no pause since the last success. Claims pause while the
    /// destination or the disk accepts nothing.
    private var pausedUntil: Duration?
    /// Number of pauses since the last success.
    private var pauses = 0
    /// Earliest time of the next test. After a pause, one item at a time tests whether the destination works again.
    private var probeNotBefore = Duration.zero
    /// Earliest time to repeat interrupted preparations.
    private(set) var prepareNotBefore = Duration.zero
    private var cutShortInRow = 0

    /// Whether the destination counts as the cause of the failures.
    var isToBlame: Bool { failures >= Self.failureLimit }

    var claimNotBefore: Duration { max(pausedUntil ?? .zero, probeNotBefore) }

    private static let pauseBackoff = Backoff(base: .seconds(8), cap: .seconds(300), jitter: .part(2))

    mutating func failed() { failures += 1 }

    mutating func succeeded(at now: Duration) {
        failures = 0
        endPause(at: now)
    }

    /// Ends the pause after a complete download, unless the destination is to blame.
    mutating func downloadSucceeded(at now: Duration) { if !isToBlame { endPause(at: now) } }

    /// Pauses claims for 4 s to 5 min, longer with each pause in which nothing succeeds.
    ///
    /// - Returns: whether a new pause begins. During a pause the result is false, because items that were already under
    ///   way do not prolong it.
    @discardableResult
    mutating func pauseClaims(at now: Duration, _ delays: inout RandomDelays) -> Bool {
        if let until = pausedUntil, until > now { return false }
        pauses += 1
        pausedUntil = now + delays.next(Self.pauseBackoff, failures: pauses)
        probeNotBefore = now
        return true
    }

    private mutating func endPause(at now: Duration) {
        pausedUntil = nil
        pauses = 0
        probeNotBefore = now
    }

    // MARK: Probes

    /// Begins a test of the destination if a pause has not ended with a success yet.
    ///
    /// - Returns: whether the next claim is a test and may ask for one item only.
    mutating func beginProbe(at now: Duration) -> Bool {
        guard pausedUntil != nil else { return false }
        probeNotBefore = now + Self.pauseBackoff.bound(failures: pauses)
        return true
    }

    /// Allows the next test at once, because the claim for the last one returned no item.
    mutating func probeFoundNoItem(at now: Duration) { probeNotBefore = now }

    // MARK: Preparations

    mutating func preparationSucceeded() { cutShortInRow = 0 }

    /// Postpones the repetition of interrupted preparations, longer with each interruption in a row.
    mutating func preparationCutShort(at now: Duration, _ delays: inout RandomDelays) {
        cutShortInRow = min(cutShortInRow + 1, 16)
        prepareNotBefore = now + delays.afterFailures(cutShortInRow)
    }

    mutating func allowPreparations(at now: Duration) { prepareNotBefore = now }
}
