@testable import HaulFleet

/// Delivers messages between processes and the database. A message may be late, lost on the way, or lost on the way
/// back after it took effect.
extension History {
    private static let unreachable = FleetError(.databaseUnreachable, "The database does not answer.")

    func send(_ call: RemoteRequest.Call, from process: SimulatedProcess) {
        var request = RemoteRequest(
            process: process.number,
            incarnation: process.incarnation,
            worker: process.worker,
            claimNumber: process.claimNumber,
            sentAt: process.clock(at: now),
            sentTrueAt: now,
            call: call
        )
        let isSlow = !isHealed && chance(0.03)
        let (there, back) = (
            delay(upTo: isSlow ? 30 * Self.second : 40_000_000), delay(upTo: isSlow ? 8 * Self.second : 40_000_000)
        )
        let isLost = chance(loss)
        let isAnswered = !isLost && !chance(loss) && there + back < Self.timeout
        request.replyDelay = isAnswered ? back : nil
        if !isAnswered {
            reply(request, .failed(Self.unreachable), after: chance(0.5) ? delay(upTo: Self.timeout) : Self.timeout)
        }
        if !isLost { push(.request(request), after: there) }
    }

    private func reply(_ request: RemoteRequest, _ reply: RemoteReply, after delay: Int64) {
        push(
            .process(request.process, incarnation: request.incarnation, .replied(request, reply)),
            after: delay
        )
    }

    func execute(_ request: RemoteRequest) {
        guard isDatabaseUp else {
            if request.replyDelay != nil { reply(request, .failed(Self.unreachable), after: 1_000_000) }
            return
        }
        let answer: RemoteReply
        do throws(FleetError) { answer = try apply(request) } catch { answer = .failed(error) }
        checkQueue()
        if let delay = request.replyDelay { reply(request, answer, after: delay) }
    }

    private func apply(_ request: RemoteRequest) throws(FleetError) -> RemoteReply {
        let worker = request.worker ?? 0
        switch request.call {
        case .worker(let call): return .event(try apply(call, worker, request))
        case .recordUpload(let key, let upload, _): return .recorded(queue.recordUpload(worker, key, upload))
        case .block(let host, let duration):
            queue.block(host, duration, at: databaseNow)
            return .done
        case .orphanUploads: return .orphans(Array(queue.orphans.prefix(10)))
        case .forget(let uploads):
            queue.orphans.removeAll { uploads.contains($0) }
            return .done
        }
    }

    private func apply(
        _ call: WorkerCall,
        _ worker: WorkerID,
        _ request: RemoteRequest
    ) throws(FleetError) -> WorkerEvent {
        switch call {
        case .register(let predecessor):
            let living = processes.compactMap(\.worker).filter { queue.workers[$0]?.state == .live }
            let registration = queue.register(predecessor: predecessor, at: databaseNow)
            for id in living where queue.workers[id]?.state == .dead { superseded.insert(id) }
            return .registered(registration, sentAt: request.sentAt)
        case .claim(let limit):
            let claim = try queue.claim(worker, number: request.claimNumber, limit: limit, at: databaseNow)
            return .claimed(claim, sentAt: request.sentAt)
        case .beat: return .beatAnswered(try queue.beat(worker, at: databaseNow), sentAt: request.sentAt)
        case .gate(let keys):
            noteGate(keys, worker, request)
            return .gated(keys, held: queue.gate(worker, keys))
        case .report(let reports):
            let accepted = queue.report(worker, reports, at: databaseNow)
            checkReports(reports, accepted, worker)
            return .reported(reports, accepted: accepted)
        case .maintain:
            let result = queue.maintain(at: databaseNow)
            counts.lostWorkers += result.lostWorkers.count
            checkLost(result.lostWorkers)
            return .maintained(result)
        case .leave:
            queue.leave(worker, at: databaseNow)
            return .left
        }
    }
}
