@testable import HaulFleet

/// The queue in memory with the rules of the SQL: the tables, and each call as one transaction. Times are nanoseconds
/// of the database's clock.
struct SimulatedQueue {
    struct Rules: Sendable {
        var leaseTime = Duration.seconds(20)
        var maxAttempts = 5
        var maxLosses = 3
        /// Number of rows that the feeder keeps ready.
        var window = 4
    }

    struct Host {
        var gap: Int64 = 0
        var maxConnections: Int?
        var nextAt: Int64 = 0
        var blockedUntil: Int64 = 0
    }

    struct Worker {
        enum State { case live, dead, left }

        var state = State.live
        var beatAt: Int64
        var leaseTime: Int64
        var predecessor: WorkerID?
        let timeline: Int
        var hasBeaten = false
        /// Number of the last claim that took effect.
        var claimNumber = 0
        /// Whether the worker claims nothing until its leases have ended, to take suspects then.
        var makesRoom = false
    }

    /// Columns that every table has for an item.
    struct Row: Equatable {
        var epoch: Int32 = 0
        /// Number of attempts so far that count.
        var attempt = 0
        /// Number of workers that were lost while they held the item.
        var losses = 0
        /// Worker that reported the item under this epoch.
        var returnedBy: WorkerID?
        var uploadID: String?
    }

    struct LeaseRow: Equatable {
        var row: Row
        var worker: WorkerID
        var claimNumber: Int
        /// `nil` if the host has no limit.
        var connections: Int?
        var isPublishing = false
        var startsAt: Int64?
        /// Whether the item is a suspect, and so the only lease of its worker.
        var isSuspect = false
    }

    struct LaterRow: Equatable {
        var row: Row
        var dueAt: Int64
        /// Whether the item waits for a worker without leases, because it was lost with several workers.
        var isSuspect = false
    }

    struct DoneRow: Equatable {
        var epoch: Int32
        var worker: WorkerID
        var outcome: Report.Outcome
    }

    var rules: Rules
    var hosts: [Host]
    /// Host of each item.
    let itemHosts: [Int]
    /// Index of the first item that is not fed yet.
    var fedTo = 0
    var ready: [Row?]
    var later: [LaterRow?]
    var lease: [LeaseRow?]
    var done: [DoneRow?]
    var workers: [WorkerID: Worker] = [:]
    var orphans: [OrphanUpload] = []
    /// Leases that were cancelled, by worker. Beats name them.
    var cancelledLeases: [WorkerID: [LeaseKey]] = [:]
    var isPaused = false
    var isDraining = false
    /// Grows with each failover.
    var timeline = 1
    /// Last worker number. No server reuses a number.
    var sequence: WorkerID = 0
    /// When the server started.
    var startedAt: Int64 = 0

    init(rules: Rules, hosts: [Host], itemHosts: [Int]) {
        (self.rules, self.hosts, self.itemHosts) = (rules, hosts, itemHosts)
        ready = Array(repeating: nil, count: itemHosts.count)
        later = Array(repeating: nil, count: itemHosts.count)
        lease = Array(repeating: nil, count: itemHosts.count)
        done = Array(repeating: nil, count: itemHosts.count)
    }

    var itemCount: Int { itemHosts.count }
    var isDrained: Bool {
        fedTo == itemCount && ready.allSatisfy { $0 == nil } && later.allSatisfy { $0 == nil }
            && lease.allSatisfy { $0 == nil }
    }

    /// Throws unless the worker is live and of the current timeline. After a failover the queue and a worker of the
    /// former timeline may disagree about leases and results.
    func checkAlive(_ worker: WorkerID) throws(FleetError) {
        guard let row = workers[worker], row.state == .live, row.timeline == timeline else {
            throw FleetError(.workerUnknown, "Worker \(worker) is not registered.")
        }
    }

    func index(_ key: LeaseKey) -> Int? {
        let index = Int(key.item) - 1
        return lease.indices.contains(index) ? index : nil
    }

    func holds(_ worker: WorkerID, _ key: LeaseKey) -> Bool {
        guard let index = index(key), let lease = lease[index] else { return false }
        return lease.worker == worker && lease.row.epoch == key.epoch
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let parts = components
        return parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    }
}
