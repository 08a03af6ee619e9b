/// What a worker needs of the queue. `PostgresQueue` is the queue; the simulation has one in memory with the same rules.
///
/// Each call is one transaction. A call that throws ``FleetError/Code/databaseUnreachable`` may have taken effect: each may be
/// repeated, and its repetition answers what the first would have.
protocol LeaseQueue: Sendable {
    /// Registers a worker. With `predecessor`, the worker that used the same work folder before, which is known to be dead: its
    /// leases become the new worker's, with new epochs, and are returned.
    func register(label: String, predecessor: WorkerID?) async throws(FleetError) -> Registration
    /// Takes at most `limit` items. Throws ``FleetError/Code/workerUnknown`` if the worker does not count as alive.
    func claim(_ worker: WorkerID, limit: Int) async throws(FleetError) -> Claim
    /// Prolongs every lease of the worker. Throws ``FleetError/Code/workerUnknown`` if it does not count as alive: it stops, and
    /// publishes nothing.
    func beat(_ worker: WorkerID) async throws(FleetError) -> Beat
    /// Marks leases as about to be published. Returns those that the worker still holds: only these may be published.
    func gate(_ worker: WorkerID, _ keys: [LeaseKey]) async throws(FleetError) -> Set<LeaseKey>
    /// Records the multipart upload of an item before its first part is sent. Returns whether the worker still holds it.
    func recordUpload(_ worker: WorkerID, _ key: LeaseKey, uploadID: String) async throws(FleetError) -> Bool
    /// Ends leases. Returns those whose report was accepted, now or by an earlier call; the others are no longer the worker's.
    func report(_ worker: WorkerID, _ reports: [Report]) async throws(FleetError) -> Set<LeaseKey>
    /// Requires further requests to a host that has a least time between requests: when the first may be sent, and the time
    /// between them.
    func reserve(hostID: Int32, requests: Int) async throws(FleetError) -> RequestSlice
    /// The limits of a host, by its name; nil where the queue does not know it.
    func hostLimits(_ name: String) async throws(FleetError) -> HostLimits?
    /// Keeps the fleet from a host for `duration`, because it answered `Retry-After`. A shorter time than one that holds already
    /// changes nothing.
    func block(hostID: Int32, for duration: Duration) async throws(FleetError)
    /// Work that any worker does now and then: returns the items of dead workers to the queue, retries that are due, and the next
    /// items of lists.
    func maintain() async throws(FleetError) -> Maintenance
    /// Which of these items have a result.
    func finished(_ items: [Int64]) async throws(FleetError) -> Set<Int64>
    /// Takes uploads whose item is no longer theirs, to abort them at the store.
    func orphanUploads(limit: Int) async throws(FleetError) -> [OrphanUpload]
    /// Removes aborted uploads from the list.
    func forget(_ uploads: [OrphanUpload]) async throws(FleetError)
    /// Signs the worker off: what it still holds is returned, due at once.
    func leave(_ worker: WorkerID) async throws(FleetError)
}

struct Registration: Sendable, Hashable {
    var worker: WorkerID
    /// How long the leases hold after a beat, by the database's clock.
    var leaseTime: Duration
    /// Leases taken over from the predecessor.
    var leases: [Lease] = []
}

struct Claim: Sendable, Hashable {
    var leases: [Lease] = []
    /// Nothing waits or runs in the whole queue.
    var isDrained = false
    /// The queue is paused or being drained: nothing is given out.
    var isPaused = false
    /// When something may be due that is not now; nil where nothing waits.
    var nextDue: Duration?
}

struct Beat: Sendable, Hashable {
    var leaseTime: Duration
    /// Hosts of the worker's leases that must not be asked, and for how long.
    var blockedHosts: [Int32: Duration] = [:]
    var isPaused = false
    /// The worker takes nothing new, finishes what it holds, and ends.
    var isDraining = false
}

/// What holds for a host that no lease of the worker is of: a redirect leads there.
struct HostLimits: Sendable, Hashable {
    var hostID: Int32
    var gap = Duration.zero
    /// Its connections are limited: none is kept open.
    var isLimited = false
    /// How long it is still to be left alone.
    var blocked = Duration.zero
}

struct RequestSlice: Sendable, Hashable {
    var startsAfter: Duration
    var gap: Duration
}

struct Maintenance: Sendable, Hashable {
    /// Workers that were found dead.
    var lostWorkers: [WorkerID] = []
    var returnedItems = 0
    var promotedItems = 0
    var fedItems = 0
}

struct OrphanUpload: Sendable, Hashable {
    var item: Int64
    var path: String
    var uploadID: String
}
