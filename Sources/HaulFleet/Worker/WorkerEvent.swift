/// What a ``WorkerMachine`` is told. `sentAt` is the worker's clock before the call was sent: a lease is counted from there, never
/// from the answer.
enum WorkerEvent: Sendable, Equatable {
    case registered(Registration, sentAt: Duration)
    case claimed(Claim, sentAt: Duration)
    case beatAnswered(Beat, sentAt: Duration)
    /// The engine has ended with an item.
    case downloadEnded(LeaseKey, DownloadEnding)
    case prepared(LeaseKey, Result<PreparedFile, FleetError>)
    /// The queue has said that the worker does not hold the item any more.
    case leaseLost(LeaseKey)
    case gated([LeaseKey], held: Set<LeaseKey>)
    case published([LeaseKey: PublicationOutcome])
    case reported([Report], accepted: Set<LeaseKey>)
    case maintained(Maintenance)
    /// The queue has signed the worker off.
    case left
    /// A call to the queue failed. Whether it took effect is unknown if the error is retryable.
    case callFailed(WorkerCall, FleetError)
    /// The time of ``WorkerMachine/nextTimer`` has come.
    case timer
    /// The process shall end: what is held is returned. A second time changes nothing.
    case stopRequested
}

enum DownloadEnding: Sendable, Equatable {
    case staged(StagedFile)
    /// - Parameter retryAfter: what the server asked for, if it did.
    case failed(Failure, isRetryable: Bool, retryAfter: Duration?)
    /// The item could not be tried now, which is not its fault: its host is blocked, or the disk of this machine is full. With
    /// `pausesClaims` no other item could be either.
    case notTried(pausesClaims: Bool)
}

/// A call to the queue, as an action and where it failed.
enum WorkerCall: Sendable, Equatable, Hashable {
    case register(predecessor: WorkerID?)
    case claim(limit: Int)
    case beat
    case gate([LeaseKey])
    case report([Report])
    case maintain
    case leave
}
