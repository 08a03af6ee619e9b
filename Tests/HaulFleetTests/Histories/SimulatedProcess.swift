import HaulKit

@testable import HaulFleet

/// A process of a worker: its machine, its clock, and the effects that are under way.
final class SimulatedProcess {
    /// What outlives the process on its machine.
    final class WorkFolder {
        /// The worker that used it last and has not left.
        var worker: WorkerID?
        /// Version of the complete file that is staged for an item.
        var staged: [Int: (epoch: Int32, version: Int)] = [:]
    }

    struct Transfer {
        var lease: Lease
        var remaining: Int64
        /// nil while it is suspended.
        var endsAt: Int64?
        /// Makes the end that was planned before a suspension void.
        var token: Int
    }

    struct Preparation {
        var file: StagedFile
        var isSuspended = false
        var token: Int
    }

    let number: Int
    /// Percent at which its clock runs, by the true time.
    let rate: Int64
    private let origin: Int64
    let capacity: Int
    let endsWhenDrained: Bool
    var folder = WorkFolder()
    /// Counts the starts; what an earlier start has begun has no effect.
    var incarnation = 0
    var machine: WorkerMachine?
    var isFrozen = false
    var deferred: [HistoryEvent] = []
    var timerGeneration = 0
    var timerAt: Int64?

    var worker: WorkerID?
    var claimNumber = 1
    var transfers: [LeaseKey: Transfer] = [:]
    var preparations: [LeaseKey: Preparation] = [:]
    var publishing: Set<LeaseKey> = []
    private var lastToken = 0

    // What the oracle knows of it.
    /// Its own clock before the last confirmed beat or registration was sent.
    var confirmedAt = Duration.zero
    /// The same by the true time, and on which timeline.
    var confirmedTrueAt: Int64 = 0
    var confirmedTimeline = 0
    var leaseTime = Duration.seconds(60)
    var held: Set<LeaseKey> = []
    var discarded: Set<LeaseKey> = []
    /// Leases that were its own when the database looked for the gate.
    var gated: Set<LeaseKey> = []
    var startedAt: Int64 = 0

    init(_ number: Int, rate: Int64, origin: Int64, capacity: Int, endsWhenDrained: Bool) {
        (self.number, self.rate, self.origin) = (number, rate, origin)
        (self.capacity, self.endsWhenDrained) = (capacity, endsWhenDrained)
    }

    /// Never the same again, so that what was planned for an earlier transfer does not happen to a later one.
    func nextToken() -> Int {
        lastToken += 1
        return lastToken
    }

    var isRunning: Bool { machine != nil }

    func clock(at time: Int64) -> Duration { .nanoseconds(origin + time * rate / 100) }

    /// The first true time at which its clock shows `own` or more.
    func time(of own: Duration) -> Int64 {
        // Rounded up: a timer that comes early is asked for again.
        let left = own.nanoseconds + 1 - origin
        return left <= 0 ? 0 : (left * 100 + rate - 1) / rate
    }

    func clear() {
        machine = nil
        incarnation += 1
        isFrozen = false
        deferred = []
        timerAt = nil
        worker = nil
        claimNumber = 1
        (transfers, preparations, publishing) = ([:], [:], [])
        (held, discarded, gated) = ([], [], [])
    }
}
