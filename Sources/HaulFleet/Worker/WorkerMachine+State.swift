import HaulKit

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
        /// The worker's name for people. The effects pass it on at registration.
        var label = ""
        /// The worker that used the work folder before and is known to be dead; `nil` if there is none.
        var predecessor: WorkerID?
        /// Whether the worker ends when the queue is drained.
        var endsWhenDrained = false
        /// Maximum time between two claims that return nothing.
        var idleClaimLimit = Duration.seconds(5)
        /// Minimum time between two gates or two reports, unless a quarter of the capacity waits for one.
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

    enum Stop: Sendable, Equatable {
        /// Finishes the held items first.
        case drain
        /// Returns the items that are not being published.
        case now
    }

    struct HeldItem: Sendable, Equatable {
        var lease: Lease
        var stage: Stage
    }

    enum Stage: Sendable, Equatable {
        /// Not begun, because the lease was in doubt at the claim.
        case waiting
        case downloading
        /// Complete in the staging folder. The preparation has not begun or must be repeated.
        case staged(StagedFile)
        case preparing(StagedFile)
        /// Waits for the gate or its answer.
        case prepared(PreparedFile)
        case publishing(StagedFile)
        case reporting
    }

    /// The state of one kind of call to the queue. At most one call of each kind is under way.
    struct CallPace: Sendable, Equatable {
        var isInFlight = false
        var lastSent: Duration = .zero
        /// Earliest time of the next call.
        var notBefore: Duration = .zero
        /// Number of failures in a row.
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
        /// Share of the lease time after which the worker stops by itself. The rest allows for different clock rates,
        /// and for the destination's work between the decision to publish and the final name.
        static let share = 0.7

        var leaseTime = Duration.seconds(60)
        /// Time before the last confirmed call was sent.
        var confirmedAt = Duration.zero
        var isInDoubt = false

        /// After this time, the worker publishes nothing until a beat is confirmed.
        var deadline: Duration { confirmedAt + leaseTime * Self.share }
    }

    struct ClaimState: Sendable, Equatable {
        /// Number of items in the current claim.
        var limit = 0
        /// Whether the last claim returned as many items as it asked for.
        var wasFull = true
        /// Whether an item has ended since the last claim.
        var hasEndedItem = false
        var isPaused = false
        var emptyInRow = 0
        /// Number of items in a row that could not be tried.
        var untriedInRow = 0
    }

    struct DestinationState: Sendable, Equatable {
        /// Number of failures in a row.
        var failures = 0
        /// End of the pause of claims, which begins when the destination or the disk accepts nothing; `nil` without a
        /// pause.
        var pausedUntil: Duration?
        /// Number of pauses since the last success.
        var pauses = 0
        /// After a pause, one item at a time tests whether the destination works again. Earliest time of the next test.
        var probeNotBefore = Duration.zero
        /// Earliest time to repeat interrupted preparations.
        var prepareNotBefore = Duration.zero
        var cutShortInRow = 0
    }

    struct MaintenanceState: Sendable, Equatable {
        var hasBegun = false
        /// Number of rounds in a row that had nothing to do.
        var idleInRow = 0
    }

    /// Returns a uniform random number in `0..<1`.
    mutating func fraction() -> Double { Double(random.next() >> 11) * 0x1p-53 }

    mutating func jittered(_ range: ClosedRange<Duration>) -> Duration {
        range.lowerBound + (range.upperBound - range.lowerBound) * fraction()
    }

    /// Returns a random delay between 0.1 s and a bound that doubles with each failure, up to `limit`.
    mutating func callDelay(_ failures: Int, limit: Duration = .seconds(30)) -> Duration {
        Backoff(base: .milliseconds(200), cap: limit, jitter: .above(.milliseconds(100)))
            .delay(failures: failures, fraction: fraction())
    }
}

extension Duration {
    /// Limits a value from the database, so that arithmetic with it does not overflow.
    func clamped(_ low: Duration, _ high: Duration) -> Duration { min(max(self, low), high) }
}
