/// Calls of a worker to the queue, with a pace for each kind.
struct QueueCalls: Sendable, Equatable {
    /// Number of refusals in a row after which the worker ends. A few refusals do not end it, because a database may
    /// refuse calls while it is being restored.
    private static let refusalLimit = 10

    private var paces = Array(repeating: CallPace(), count: WorkerCall.Kind.allCases.count)
    /// Time of the last call that succeeded.
    private(set) var answeredAt = Duration.zero

    subscript(kind: WorkerCall.Kind) -> CallPace { paces[kind.rawValue] }

    var isAnyInFlight: Bool { paces.contains(where: \.isInFlight) }

    /// Whether exactly this call is under way.
    func isInFlight(_ call: WorkerCall) -> Bool { self[call.kind].inFlight == call }

    /// The error with which an ending worker gives up: the last error of the first kind below that has one.
    var lastError: FleetError? {
        let kinds: [WorkerCall.Kind] = [.leave, .report, .register, .beat, .claim, .gate]
        return kinds.compactMap { self[$0].lastError }.first
    }

    /// Whether the queue has refused the calls of this kind too often for another attempt.
    func isRefusedForGood(_ kind: WorkerCall.Kind) -> Bool {
        guard let error = self[kind].lastError else { return false }
        return error.isRefusal && self[kind].failures >= Self.refusalLimit
    }

    mutating func began(_ call: WorkerCall, at now: Duration) { paces[call.kind.rawValue].began(call, at: now) }

    mutating func succeeded(_ kind: WorkerCall.Kind, at now: Duration) {
        paces[kind.rawValue].succeeded()
        answeredAt = now
    }

    mutating func failed(_ kind: WorkerCall.Kind, _ error: FleetError) { paces[kind.rawValue].failed(error) }

    /// Marks the gate call under way as void: its answer has no effect.
    mutating func gateBecameVoid() { paces[WorkerCall.Kind.gate.rawValue].becameVoid() }

    /// Forgets the earlier calls of this kind.
    mutating func restart(_ kind: WorkerCall.Kind, notBefore: Duration = .zero) {
        paces[kind.rawValue] = CallPace(notBefore: notBefore)
    }

    // MARK: Time of the next call

    mutating func wait(_ kind: WorkerCall.Kind, until time: Duration) { paces[kind.rawValue].wait(until: time) }

    /// Postpones the next call to `time`, if it would be earlier.
    mutating func postpone(_ kind: WorkerCall.Kind, to time: Duration) {
        wait(kind, until: max(self[kind].notBefore, time))
    }

    /// Advances the next call to `time`, if it would be later.
    mutating func advance(_ kind: WorkerCall.Kind, to time: Duration) {
        wait(kind, until: min(self[kind].notBefore, time))
    }

    /// Sets the next call to a random delay from now. The delay grows with the consecutive failures, up to `limit`.
    mutating func backOff(
        _ kind: WorkerCall.Kind,
        at now: Duration,
        limit: Duration = .seconds(30),
        _ delays: inout RandomDelays
    ) {
        wait(kind, until: now + delays.afterFailures(self[kind].failures, limit: limit))
    }
}

extension FleetError {
    /// Whether the database answered a call and would refuse the same call again.
    var isRefusal: Bool {
        switch code {
        case .databaseUnreachable, .destinationUnreachable, .cancelled, .workerUnknown: false
        default: true
        }
    }
}
