/// An event for a ``WorkerMachine``. `sentAt` is the time of the worker's clock before the call was sent. The lease
/// time counts from `sentAt`, never from the answer.
enum WorkerEvent: Sendable, Equatable {
    case registered(Registration, sentAt: Duration)
    case claimed(Claim, sentAt: Duration)
    case beatAnswered(Beat, sentAt: Duration)
    case downloadEnded(LeaseKey, DownloadEnding)
    case prepared(LeaseKey, Result<PreparedFile, FleetError>)
    /// The queue reported that the worker no longer holds the item.
    case leaseLost(LeaseKey)
    case gated([LeaseKey], held: Set<LeaseKey>)
    case published([LeaseKey: PublicationOutcome])
    case reported([Report], accepted: Set<LeaseKey>)
    case maintained(Maintenance)
    /// The queue has ended the worker's registration.
    case left
    /// A call to the queue failed. If the error is retryable, the call may have taken effect.
    case callFailed(WorkerCall, FleetError)
    /// The time ``WorkerMachine/nextTimer`` has come.
    case timer
    /// The process must end and return its items. A second request changes nothing.
    case stopRequested
}

enum DownloadEnding: Sendable, Equatable {
    case staged(StagedFile)
    /// The server still has the version that the list names.
    case unchanged(validator: String)
    /// - Parameter retryAfter: the delay that the server asked for; `nil` if it asked for none.
    case failed(Failure, isRetryable: Bool, retryAfter: Duration?)
    /// The item could not be tried now and is not to blame, for example because its host is blocked or this machine's
    /// disk is full. `pausesClaims` means that other items could not be tried either.
    case notTried(pausesClaims: Bool)
}

/// A call to the queue. Used in actions and in failures.
enum WorkerCall: Sendable, Equatable, Hashable {
    case register(predecessor: WorkerID?)
    case claim(limit: Int)
    case beat
    case gate([LeaseKey])
    case report([Report])
    case maintain
    case leave

    enum Kind: Int, Sendable, CaseIterable {
        case register, claim, beat, gate, report, maintain, leave
    }

    var kind: Kind {
        switch self {
        case .register: .register
        case .claim: .claim
        case .beat: .beat
        case .gate: .gate
        case .report: .report
        case .maintain: .maintain
        case .leave: .leave
        }
    }
}
