/// An action that a ``WorkerMachine`` requests.
enum WorkerAction: Sendable, Equatable {
    case call(WorkerCall)
    /// Downloads the item into the staging folder. Continues with bytes that are there.
    case begin(LeasedItem)
    /// Stops the transfer of an item and keeps its bytes, because the lease is in doubt or lost.
    case suspend(LeaseKey)
    /// Continues a suspended transfer, because the lease is confirmed.
    case resume(LeaseKey)
    case prepare(StagedFile)
    case publish([PreparedFile])
    /// Drops the item. Its bytes in the staging folder may be removed unless `keepsBytes` is `true`, which means that
    /// this worker may get the item again and continue it.
    case discard(LeaseKey, keepsBytes: Bool)
    /// Sends no request to this host for the duration.
    case blockHost(Int32, Duration)
    /// Ends the worker; `nil` for a regular end.
    case end(FleetError?)
}
