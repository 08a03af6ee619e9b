/// The request that a worker ends.
struct StopRequest: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// Finishes the held items first.
        case drain
        /// Returns the items that are not being published.
        case now
    }

    /// `nil` if the worker was not asked to end.
    private(set) var kind: Kind?
    /// Earliest time from which ``WorkerMachine/Settings/stopPatience`` counts.
    private(set) var since = Duration.zero

    var isRequested: Bool { kind != nil }

    /// Requests a drain unless the worker is already ending.
    mutating func requestDrain() { if kind == nil { kind = .drain } }

    /// - Returns: `false` if the same request was made before.
    mutating func requestStop(at now: Duration) -> Bool {
        guard kind != .now else { return false }
        (kind, since) = (.now, now)
        return true
    }

    /// Notes that a drained worker leaves the queue.
    mutating func leavingBegan(at now: Duration) { if kind != .now { since = now } }
}
