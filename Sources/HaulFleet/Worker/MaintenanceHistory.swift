/// What a worker remembers of its maintenance calls.
struct MaintenanceHistory: Sendable, Equatable {
    private(set) var hasBegun = false
    /// Number of rounds in a row that had nothing to do.
    private var idleInRow = 0

    /// Pause before an advanced round: 0.5 s, doubled while there is nothing to do.
    var pause: Duration { Duration.milliseconds(500) * (1 << min(idleInRow, 10)) }

    mutating func began() { hasBegun = true }
    mutating func ended(isIdle: Bool) { idleInRow = isIdle ? min(idleInRow + 1, 16) : 0 }
}
