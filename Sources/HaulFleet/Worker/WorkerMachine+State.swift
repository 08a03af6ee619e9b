extension WorkerMachine {
    struct Settings: Sendable, Hashable {
        /// Maximum number of held items.
        var capacity = 64
        /// Number of held items while downloads end slowly; `nil` to always hold `capacity`.
        var leastHeld: Int?
        /// Maximum number of items per claim.
        var claimBatch = 64
        /// Maximum number of items per gate or report.
        var publishBatch = 500
        /// The worker's name for people. The machine does not use the name; the registration sends
        /// ``WorkerIdentity/label``.
        var label = ""
        /// The worker that used the work folder before and is known to be dead; `nil` if there is none.
        var predecessor: WorkerID?
        /// Whether the worker ends when no item is left in the queue or with other workers.
        var endsWhenDrained = false
        /// Size in bytes of the shards that the files go into; `nil` if each file has a name of its own.
        var shardBytes: Int64?
        /// Time after its first file in which a shard ends that does not reach ``shardBytes``.
        var shardAge = Duration.seconds(600)
        /// Maximum time between two claims that return nothing.
        var idleClaimLimit = Duration.seconds(5)
        /// Minimum time between two gates or two reports, unless ``publishBatch`` items or a quarter of the hold limit
        /// wait.
        var batchInterval = Duration.milliseconds(50)
        /// Upper bound of the worker's own delays before the next attempt of an item.
        var retryDelayLimit = Duration.seconds(900)
        /// Upper bound of the delays that servers ask for.
        var retryAfterLimit = Duration.seconds(3600)
        /// Time that an ending worker waits for a database that does not answer.
        var stopPatience = Duration.seconds(10)
    }

    enum Phase: Sendable, Equatable {
        case created
        /// The worker that the registration replaces; `nil` if there is none.
        case registering(WorkerID?)
        case working
        /// The queue does not know the worker. The machine waits for pending answers and then registers again.
        case forgetting
        case leaving
        case ended
    }
}

extension Duration {
    /// Limits a value that the database or a server sent, so that arithmetic with it does not overflow.
    func clamped(_ low: Duration, _ high: Duration) -> Duration { min(max(self, low), high) }
}
