/// State of one kind of call to the queue. At most one call of each kind is under way.
struct CallPace: Sendable, Equatable {
    private enum State: Sendable, Equatable {
        case idle
        case inFlight(WorkerCall)
        /// Under way, but its answer has no effect, because the lease came into doubt meanwhile.
        case void(WorkerCall)
    }

    private var state = State.idle
    private(set) var lastSent = Duration.zero
    /// Earliest time of the next call.
    private(set) var notBefore: Duration
    /// Number of failures in a row.
    private(set) var failures = 0
    private(set) var lastError: FleetError?

    init(notBefore: Duration = .zero) { self.notBefore = notBefore }

    /// The call under way; `nil` if none is.
    var inFlight: WorkerCall? {
        switch state {
        case .idle: nil
        case .inFlight(let call), .void(let call): call
        }
    }

    var isInFlight: Bool { state != .idle }

    var isVoid: Bool { if case .void = state { true } else { false } }

    mutating func began(_ call: WorkerCall, at now: Duration) {
        state = .inFlight(call)
        lastSent = now
    }

    /// Marks the call under way as void, if there is one.
    mutating func becameVoid() {
        if case .inFlight(let call) = state { state = .void(call) }
    }

    mutating func succeeded() {
        state = .idle
        failures = 0
        lastError = nil
    }

    mutating func failed(_ error: FleetError) {
        state = .idle
        failures += 1
        lastError = error
    }

    mutating func wait(until time: Duration) { notBefore = time }
}
