@testable import HaulCore

/// The events of connections.
extension ShadowDownload {
    mutating func proceedConnection(_ id: ConnectionID) {
        guard let open = connections[id] else { return }
        if open.isFrozen {
            // A stall is noticed only after a long time.
            guard isBenevolent || chance(5) else { return }
            return end(id, .failed(TransportError(.stalled), open.stage == .flowing ? file.persisted : nil))
        }
        switch open.stage {
        case .awaitingURL: ask(open)
        case .held:
            if fails(10) { return end(id, .failed(TransportError(.connectionLost, "no body"), nil)) }
            if !steps.isEmpty { finishStep() }
        case .flowing: proceedBody(open)
        }
    }

    private mutating func ask(_ open: ShadowConnection) {
        let isFurther = machine.state == .transferring
        if isFurther, fails(10) { return end(open.id, .noConnectionSlot) }
        if fails(10) { return end(open.id, .failed(anyFailure(), nil)) }
        let count = connections.values.count { $0.question.source == open.question.source }
        var answer: ShadowServer.Answer
        server.asked = open.url
        if open.question.source == 0, server.refusesLink {
            answer = server.refusedLink(&random)
        } else if count > server.mostConnections {
            if chance(25) { return end(open.id, .failed(TransportError(.connectionLost, "reset"), nil)) }
            answer = server.refusal(open.question, &random)
        } else {
            answer = isBenevolent ? server.proper(open.question) : server.answer(open.question, &random)
        }
        connections[open.id]?.stage = .held
        connections[open.id]?.body = answer.body
        let others = connections.keys.filter { $0 != open.id }
        send(.headReceived(open.id, answer.head, retryAfter: answer.retryAfter))
        let status = answer.head.status
        if isFurther, status >= 400, status != 412, status != 416 {
            carriesOn(others, "one was refused with \(status)")
        }
    }

    private mutating func proceedBody(_ open: ShadowConnection) {
        if fails(2) {
            if chance(50) {
                file.failSync()
                store.persisted = file.persisted
            }
            return end(open.id, .diskFailed(DiskError(.full, call: "pwritev", path: "/part"), file.persisted))
        }
        if fails(10) { return end(open.id, .failed(anyFailure(), file.persisted)) }
        guard !open.rest.isEmpty else { return end(open.id, .finished(file.persisted)) }
        flow(open.id)
        if connections[open.id]?.hasMixed == true { end(open.id, .overlapDiffers) }
    }

    private mutating func end(_ id: ConnectionID, _ end: DownloadMachine.ConnectionEnd) {
        let wasTransferring = machine.state == .transferring
        connections[id] = nil
        // A connection whose bytes have all arrived may be closed at any time.
        let others = connections.keys.filter { id in
            guard let remainingRange = machine.transfer.plan?.segments[id]?.remainingRange else { return false }
            return file.persisted.written.firstMissing(in: remainingRange) < remainingRange.upperBound
        }
        send(.connectionEnded(id, end))
        guard wasTransferring else { return }
        switch end {
        case .failed, .noConnectionSlot: carriesOn(others, "one ended with \(end)")
        case .finished, .overlapDiffers, .diskFailed: break
        }
    }

    /// Checks that a failure of one connection leaves the others open.
    private mutating func carriesOn(_ others: [ConnectionID], _ reason: String) {
        let isDone = machine.transfer.plan?.isComplete ?? false
        if !isDone, others.contains(where: { connections[$0] == nil }) {
            complain("closes other connections after \(reason)")
        }
    }

    mutating func anyFailure() -> TransportError {
        let often: [TransportError.Kind] = [.connectionLost, .stalled, .connectTimeout, .connectionRefused]
        let kinds = chance(90) ? often : TransportError.Kind.allCases
        return TransportError(kinds.randomElement(using: &random) ?? .connectionLost)
    }
}
