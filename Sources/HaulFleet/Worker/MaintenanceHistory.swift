internal import HaulKit

/// Results of a worker's last maintenance calls.
struct MaintenanceHistory: Sendable, Equatable {
    private(set) var hasBegun = false
    /// Number of rounds in a row that had nothing to do.
    private var idleInRow = 0

    private static let pauseBackoff = Backoff(base: .milliseconds(500), cap: .seconds(512), jitter: .part(2))

    /// Returns the pause before an advanced round, which doubles while there is nothing to do.
    func pause(_ delays: inout RandomDelays) -> Duration { delays.next(Self.pauseBackoff, failures: idleInRow + 1) }

    mutating func began() { hasBegun = true }
    mutating func ended(isIdle: Bool) { idleInRow = isIdle ? min(idleInRow + 1, 16) : 0 }
}
