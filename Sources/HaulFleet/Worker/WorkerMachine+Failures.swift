extension WorkerMachine {
    mutating func callFailed(_ call: WorkerCall, _ error: FleetError) {
        guard isUnderWay(call) else { return }
        switch call {
        case .register: registrationFailed(error)
        case .leave: leaveFailed(error)
        case .claim: claimFailed(error)
        case .beat: beatFailed(error)
        case .gate(let keys): gateFailed(keys, error)
        case .report(let reports): reportFailed(reports, error)
        case .maintain: maintenanceFailed(error)
        }
        guard error.code == .workerUnknown, phase == .working else { return }
        forgetWorker()
    }

    private func isUnderWay(_ call: WorkerCall) -> Bool {
        switch call {
        case .register(let predecessor): register.isInFlight && phase == .registering(predecessor)
        case .claim(let limit): claim.isInFlight && limit == claims.limit
        case .beat: beat.isInFlight
        case .gate(let keys): gate.isInFlight && keys == gateSent
        case .report(let reports): report.isInFlight && reports == reportsSent
        case .maintain: maintain.isInFlight
        case .leave: leave.isInFlight && phase == .leaving
        }
    }

    /// Whether the database answered and a repetition would fail again.
    func isRefusal(_ error: FleetError) -> Bool {
        switch error.code {
        case .databaseUnreachable, .destinationUnreachable, .cancelled, .workerUnknown: false
        default: true
        }
    }

    /// Number of refusals in a row that ends the worker. A database that is being restored may refuse fewer times.
    static let refusalLimit = 10

    /// Ends the worker at once. Its leases expire.
    mutating func fail(_ error: FleetError?) {
        guard phase != .ended else { return }
        suspendTransfers()
        phase = .ended
        actions.append(.end(error))
    }
}
