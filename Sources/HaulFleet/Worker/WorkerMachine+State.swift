import HaulKit

extension WorkerMachine {
    struct Settings: Sendable, Hashable {
        /// Items held at most.
        var capacity = 64
        /// Items held where downloads end slowly; nil: `capacity` at any pace.
        var leastHeld: Int?
        /// Items asked for at once, at most.
        var claimBatch = 64
        /// Items in a gate or a report, at most.
        var publishBatch = 500
        /// What a person reads of the worker; the effects pass it on when they register it.
        var label = ""
        /// The worker that used the work folder before and is known to be dead.
        var predecessor: WorkerID?
        /// Ends when the queue has nothing more to do.
        var endsWhenDrained = false
        /// Most time between two claims that bring nothing.
        var idleClaimLimit = Duration.seconds(5)
        /// Least time between two gates or two reports, unless a quarter of the capacity waits for one.
        var batchInterval = Duration.milliseconds(50)
        /// Upper bound of the delays that the worker chooses before an item is tried again.
        var retryDelayLimit = Duration.seconds(900)
        /// Upper bound of those that a server chooses.
        var retryAfterLimit = Duration.seconds(3600)
        /// How long a worker that shall end waits for a database that does not answer.
        var stopPatience = Duration.seconds(10)
    }

    enum Phase: Sendable, Equatable {
        case created
        /// The worker that it takes the place of.
        case registering(WorkerID?)
        case working
        /// The queue does not know the worker any more: it waits for the answers that are under way, then registers as another.
        case forgetting
        case leaving
        case ended
    }

    enum Stop: Sendable, Equatable {
        /// What is held is finished first.
        case drain
        /// What is not being published is returned.
        case now
    }

    struct HeldItem: Sendable, Equatable {
        var lease: Lease
        var stage: Stage
    }

    enum Stage: Sendable, Equatable {
        /// Not begun, because the lease was in doubt when it came.
        case waiting
        case downloading
        /// Complete in the staging folder; its preparation has not begun, or has to be repeated.
        case staged(StagedFile)
        case preparing(StagedFile)
        /// Waits for the gate, or for its answer.
        case prepared(PreparedFile)
        case publishing(StagedFile)
        case reporting
    }

    /// One kind of call to the queue, of which one at a time is under way.
    struct CallPace: Sendable, Equatable {
        var isInFlight = false
        var lastSent: Duration = .zero
        /// Earliest time of the next.
        var notBefore: Duration = .zero
        /// Failures in a row.
        var failures = 0
        var lastError: FleetError?

        mutating func begin(at now: Duration) {
            isInFlight = true
            lastSent = now
        }

        mutating func succeed() {
            isInFlight = false
            failures = 0
            lastError = nil
        }

        mutating func fail(_ error: FleetError) {
            isInFlight = false
            failures += 1
            lastError = error
        }
    }

    struct LeaseClock: Sendable, Equatable {
        /// Part of the lease time after which the worker stops by itself: the rest is for clocks that run at different rates, and
        /// for what the destination does between the decision to publish and the name.
        static let share = 0.7

        var leaseTime = Duration.seconds(60)
        /// Before the last call that the queue has confirmed was sent.
        var confirmedAt = Duration.zero
        var isInDoubt = false

        /// Past this nothing is published until a beat is confirmed.
        var deadline: Duration { confirmedAt + leaseTime * Self.share }
    }

    struct ClaimState: Sendable, Equatable {
        /// Items that the claim under way asks for.
        var limit = 0
        /// The last claim brought as many items as it asked for.
        var wasFull = true
        /// An item ended since the last claim.
        var hasEndedItem = false
        var isPaused = false
        var emptyInRow = 0
        /// Items in a row that could not be tried.
        var untriedInRow = 0
    }

    struct DestinationState: Sendable, Equatable {
        /// Failures in a row.
        var failures = 0
        /// No claim before: the destination or the disk takes nothing.
        var pausedUntil: Duration?
        /// Pauses since it last took something.
        var pauses = 0
        /// After a pause one item at a time finds out whether the destination works again.
        var probeNotBefore = Duration.zero
        /// Preparations that were cut short are repeated no sooner.
        var prepareNotBefore = Duration.zero
        var cutShortInRow = 0
    }

    struct MaintenanceState: Sendable, Equatable {
        var hasBegun = false
        /// Rounds in a row that had nothing to do.
        var idleInRow = 0
    }

    /// Evenly distributed in `0..<1`.
    mutating func fraction() -> Double { Double(random.next() >> 11) * 0x1p-53 }

    mutating func jittered(_ range: ClosedRange<Duration>) -> Duration {
        range.lowerBound + (range.upperBound - range.lowerBound) * fraction()
    }

    /// Full jitter between 0.1 s and a bound that doubles with each failure, to 30 s.
    mutating func callDelay(_ failures: Int, limit: Duration = .seconds(30)) -> Duration {
        let bound = Duration.milliseconds(100) * (1 << min(failures, 9))
        return jittered(.milliseconds(100)...max(.milliseconds(100), min(bound, limit)))
    }
}

extension Duration {
    /// Bounds what comes from the database, so that arithmetic with it stays in range.
    func clamped(_ low: Duration, _ high: Duration) -> Duration { min(max(self, low), high) }
}
