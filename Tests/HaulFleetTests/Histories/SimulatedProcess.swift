import HaulKit

@testable import HaulFleet

/// A worker process: its machine, its clock, and the effects in progress.
final class SimulatedProcess {
    /// State that outlives the process on its machine.
    final class WorkFolder {
        /// Last worker that used the folder and has not left.
        var worker: WorkerID?
        /// Epoch and version of the complete file that is staged for each item.
        var staged: [Int: (epoch: Int32, version: Int)] = [:]
    }

    struct Transfer {
        var lease: LeasedItem
        var remaining: Int64
        /// `nil` while the transfer is suspended.
        var endsAt: Int64?
        /// Identifies the planned end. A suspension changes the token, so that the earlier end is ignored.
        var token: Int
    }

    struct Preparation {
        var file: StagedFile
        var isSuspended = false
        var token: Int
    }

    let number: Int
    /// Rate of the process's clock, in percent of the true time.
    let rate: Int64
    private let origin: Int64
    let capacity: Int
    let endsWhenDrained: Bool
    var folder = WorkFolder()
    /// Number of starts. Events of an earlier start have no effect.
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

    // State of the process as the oracle knows it.
    /// Time of the process's own clock when the last confirmed beat or registration was sent.
    var confirmedAt = Duration.zero
    /// The same moment by the true time. `confirmedTimeline` is the timeline of that moment.
    var confirmedTrueAt: Int64 = 0
    var confirmedTimeline = 0
    var leaseTime = Duration.seconds(60)
    var held: Set<LeaseKey> = []
    var discarded: Set<LeaseKey> = []
    /// Leases that the process held when the database checked the gate.
    var gated: Set<LeaseKey> = []
    var startedAt: Int64 = 0

    init(_ number: Int, rate: Int64, origin: Int64, capacity: Int, endsWhenDrained: Bool) {
        (self.number, self.rate, self.origin) = (number, rate, origin)
        (self.capacity, self.endsWhenDrained) = (capacity, endsWhenDrained)
    }

    /// Returns a new token each time, so that an event of an earlier transfer does not affect a later one.
    func nextToken() -> Int {
        lastToken += 1
        return lastToken
    }

    var isRunning: Bool { machine != nil }

    func clock(at time: Int64) -> Duration { .nanoseconds(origin + time * rate / 100) }

    /// Returns the first true time at which the process's clock shows `own` or more.
    func time(of own: Duration) -> Int64 {
        // The result is rounded up, because the machine asks again for a timer that fires early.
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
