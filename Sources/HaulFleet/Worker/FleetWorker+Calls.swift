/// Sends calls to the queue and turns their results into events.
extension FleetWorker {
    func send(_ call: WorkerCall) {
        let (queue, events, label) = (queue, events, identity.label)
        let (worker, sentAt) = (identity.number, clock.now)
        Task {
            do throws(FleetError) {
                events.yield(try await Self.answer(to: call, queue, worker, label: label, sentAt: sentAt))
            } catch { events.yield(.callFailed(call, error)) }
        }
    }

    private static func answer(
        to call: WorkerCall,
        _ queue: any LeaseQueue,
        _ worker: WorkerID?,
        label: String,
        sentAt: Duration
    ) async throws(FleetError) -> WorkerEvent {
        if case .register(let predecessor) = call {
            return .registered(try await queue.register(label: label, predecessor: predecessor), sentAt: sentAt)
        }
        if case .maintain = call { return .maintained(try await queue.maintain()) }
        guard let worker else { throw FleetError(.workerUnknown, "The worker is not registered yet.") }
        switch call {
        case .claim(let limit): return .claimed(try await queue.claim(worker, limit: limit), sentAt: sentAt)
        case .beat: return .beatAnswered(try await queue.beat(worker), sentAt: sentAt)
        case .gate(let keys): return .gated(keys, held: try await queue.gate(worker, keys))
        case .report(let reports): return .reported(reports, accepted: try await queue.report(worker, reports))
        case .leave:
            try await queue.leave(worker)
            return .left
        case .register, .maintain: throw FleetError(.statementFailed, "Answered above.")
        }
    }
}
