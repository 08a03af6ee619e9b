/// The queue's operations for a worker. ``PostgresQueue`` implements them; the simulation has an
/// implementation in memory with the same rules.
///
/// Each call except ``maintain()`` is one transaction. A call that throws ``FleetError/Code/databaseUnreachable`` may
/// have taken effect. The caller may repeat any call: a repeated claim returns the leases of the first one, and a
/// repeated report is accepted again.
protocol LeaseQueue: Sendable {
    /// Registers a worker. `predecessor` is the worker that used the same work folder before and is known to be dead.
    /// The new worker gets the leases of the predecessor under new epochs; the registration contains these leases.
    func register(label: String, predecessor: WorkerID?) async throws(FleetError) -> Registration
    /// Leases at most `limit` items. Throws ``FleetError/Code/workerUnknown`` if the worker does not count as alive.
    func claim(_ worker: WorkerID, limit: Int) async throws(FleetError) -> Claim
    /// Prolongs all leases of the worker. Throws ``FleetError/Code/workerUnknown`` if the worker does not count as
    /// alive; the worker must then stop and publish nothing.
    func beat(_ worker: WorkerID) async throws(FleetError) -> Beat
    /// Marks leases as about to be published. Returns the leases that the worker still holds and may publish.
    func gate(_ worker: WorkerID, _ keys: [LeaseKey]) async throws(FleetError) -> Set<LeaseKey>
    /// Records the multipart upload of an item before its first part is sent. Returns whether the worker still holds
    /// the item.
    func recordUpload(_ worker: WorkerID, _ key: LeaseKey, uploadID: String) async throws(FleetError) -> Bool
    /// Ends leases. Returns the leases whose report was accepted, now or by an earlier call. The worker has lost the
    /// others.
    func report(_ worker: WorkerID, _ reports: [Report]) async throws(FleetError) -> Set<LeaseKey>
    /// Reserves start times for further requests to a host with a minimum gap. Returns the delay until the first start
    /// time, and the gap.
    func reserve(hostID: Int32, requests: Int) async throws(FleetError) -> RequestSlice
    /// Returns the limits of the host `name`; `nil` if the queue does not know the host.
    func hostLimits(_ name: String) async throws(FleetError) -> HostLimits?
    /// Blocks a host for the whole fleet after a 429, or a 503 with `Retry-After`. A longer block that exists already
    /// stays.
    func block(hostID: Int32, for duration: Duration) async throws(FleetError)
    /// Does the regular work that any worker may do: moves items of dead workers back to the queue, makes due retries
    /// ready, feeds the next items of lists (makes them ready, in steps), and removes old rows.
    func maintain() async throws(FleetError) -> Maintenance
    /// Returns those of `items` that have a result.
    func finished(_ items: [Int64]) async throws(FleetError) -> Set<Int64>
    /// Takes uploads that belong to no lease any more. The caller aborts them at the store.
    func orphanUploads(limit: Int) async throws(FleetError) -> [OrphanUpload]
    /// Removes aborted uploads from the queue's list of orphans.
    func forget(_ uploads: [OrphanUpload]) async throws(FleetError)
    /// Ends the registration of the worker. Its remaining leases return to the queue, due at once.
    func leave(_ worker: WorkerID) async throws(FleetError)
}

struct Registration: Sendable, Hashable {
    var worker: WorkerID
    /// Duration of a lease from the last beat, by the database's clock.
    var leaseTime: Duration
    /// Leases taken over from the predecessor.
    var leases: [LeasedItem] = []
}

struct Claim: Sendable, Hashable {
    var leases: [LeasedItem] = []
    /// Whether nothing waits or runs in the whole queue.
    var isDrained = false
    /// Whether the queue is paused or draining, and therefore gives nothing out.
    var isPaused = false
    /// Whether no item waits in the queue: all are leased or have ended.
    var isExhausted = false
    /// Delay until an item may become due; `nil` if no item waits for a time.
    var nextDue: Duration?
}

struct Beat: Sendable, Hashable {
    var leaseTime: Duration
    /// Hosts of the worker's leases that accept no requests now, with the remaining time.
    var blockedHosts: [Int32: Duration] = [:]
    /// Leases that the worker has lost because somebody cancelled the items. Further beats may name them again.
    var cancelled: [LeaseKey] = []
    var isPaused = false
    /// Whether the worker must take no new items, finish its leases and end.
    var isDraining = false
}

/// The limits of a host at which the worker has no lease, such as the target of a redirect.
struct HostLimits: Sendable, Hashable {
    var hostID: Int32
    var gap = Duration.zero
    /// Whether the host has a connection limit. Workers keep no idle connection to such a host open.
    var isLimited = false
    /// Remaining time of a block; zero if there is none.
    var blocked = Duration.zero
}

struct RequestSlice: Sendable, Hashable {
    var startsAfter: Duration
    var gap: Duration
}

struct Maintenance: Sendable, Hashable {
    /// Workers found dead by this call.
    var lostWorkers: [WorkerID] = []
    var returnedItems = 0
    var promotedItems = 0
    /// Number of items of lists that became ready or were passed over, because many of their host are ready.
    var fedItems = 0
}

struct OrphanUpload: Sendable, Hashable {
    var item: Int64
    var path: String
    var uploadID: String
}
