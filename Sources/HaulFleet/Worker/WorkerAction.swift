/// What a ``WorkerMachine`` wants done.
enum WorkerAction: Sendable, Equatable {
    case call(WorkerCall)
    /// Downloads the item into the staging folder, going on with what is there of it.
    case begin(Lease)
    /// Stops the transfer of an item and keeps its bytes: the lease is in doubt, or lost.
    case suspend(LeaseKey)
    /// Continues a suspended transfer: the lease is confirmed.
    case resume(LeaseKey)
    case prepare(StagedFile)
    case publish([PreparedFile])
    /// The worker has nothing more to do with the item: what the staging folder has of it may be removed.
    case discard(LeaseKey)
    /// No request to this host for so long.
    case blockHost(Int32, Duration)
    /// The worker has ended; nil: as it should.
    case end(FleetError?)
}
