import Foundation

@testable import HaulKit

/// The world's part: what may happen next.
extension ShadowDownload {
    private enum Source: CaseIterable { case slot, step, connection, timer, verification }

    /// Something that is under way and will bring an event.
    private var sources: [Source] {
        Source.allCases.filter { source in
            switch source {
            case .slot: machine.state == .queued && steps.isEmpty
            case .step: !steps.isEmpty
            case .connection: connection.map { $0.stage != .held || machineCanLose($0) } ?? false
            case .timer: timer != nil
            case .verification: verification != nil
            }
        }
    }

    /// While a head is held the connection may break, but need not: what comes next is a step.
    private func machineCanLose(_ connection: Connection) -> Bool {
        !isBenevolent && connection.stage == .held && !connection.isAdmitted
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// One event of a hostile world.
    mutating func proceedHostilely() {
        if chance(20) { return sendLate(nothingOfUse()) }
        switch Int.random(in: 0..<1000, using: &random) {
        case 0..<25: return send(.pauseRequested)
        case 25..<55: return send(.resumeRequested)
        case 55..<57: return send(.cancelRequested)
        case 57..<67: return restart(afterPowerCut: chance(50), fromReplacedSource: chance(20))
        case 67..<75: return server.change(&random)
        case 75..<85 where machine.state == .queued: return send(.slotGranted)
        default: break
        }
        if isAtRest, steps.isEmpty || chance(30) { return send(.resumeRequested) }
        proceed()
    }

    /// One event of those that are under way; the world is bad or kind, as set.
    mutating func proceed() {
        if isAtRest, sources.isEmpty {
            if !isOver { send(.resumeRequested) }
            return
        }
        guard let source = sources.randomElement(using: &random) else {
            return complain("is stuck")
        }
        switch source {
        case .slot: send(.slotGranted)
        case .step: finishStep()
        case .connection: proceedConnection()
        case .timer:
            guard let fired = timer else { return }
            now = now + .seconds(400)
            send(.timerFired(fired))
            // It has gone off: what it was for may start it again.
            if timer == fired { timer = nil }
        case .verification: finishVerification()
        }
    }

    private mutating func fails(_ percent: Int) -> Bool { !isBenevolent && chance(percent) }

    private mutating func finishVerification() {
        guard let expected = verification else { return }
        verification = nil
        if fails(3) { return send(.stepFailed(DownloadError(.diskFailed, "read error"))) }
        let versions = file.versions(from: 0, to: file.mark.written)
        let actual = ShadowServer.digest(of: versions.count == 1 ? versions.first ?? 0 : 255)
        // Nothing at all has the digest of whatever version has no bytes.
        let isRight = actual == expected || (versions.isEmpty && server.current.total == 0)
        answer(isRight ? .right : .mismatch(expected: expected, actual: actual))
    }

    private mutating func answer(_ verdict: DownloadMachine.Verdict) {
        if machine.state == .verifying { lastVerdict = verdict }
        send(.verified(verdict))
    }

    // MARK: Steps

    private mutating func finishStep() {
        let step = steps.removeFirst()
        switch step {
        case .recover: recover()
        case .prepare(let id, let preparation): prepare(id, preparation)
        case .admit(let id, let offset, let compare): admit(id, offset, compare)
        case .checkpoint:
            guard isOpen else { return }
            if fails(10) { failSync() } else { file.sync() }
            send(.bytesLanded(file.mark))
            store.mark = file.mark
        case .answerUnchecked: answer(.unchecked)
        case .publish: publish()
        case .setAside, .discard:
            (hasPart, isOpen, file) = (false, false, ShadowFile())
            store.mark = .zero
        case .release: isOpen = false
        }
    }

    private mutating func recover() {
        if fails(4) { return send(.stepFailed(DownloadError(.inUse, "another process"))) }
        if fails(1) { return send(.skipped(path: "/there")) }
        if fails(2) { hasPart = false }
        guard hasPart else {
            file = ShadowFile()
            return send(.recovered(nil))
        }
        isOpen = true
        let claim = machine.mark
        let isThere = claim.written > 0 && file.size >= claim.written
        file.reopen(isThere ? claim : .zero)
        send(.recovered(isThere ? claim : nil))
    }

    private mutating func prepare(_ id: ConnectionID, _ preparation: DownloadMachine.Preparation) {
        if fails(2) { return send(.skipped(path: "/there")) }
        if fails(3) { return send(.stepFailed(DownloadError(.storeFailed, "before anything was touched"))) }
        if !isOpen || preparation.startsOver {
            if !preparation.startsOver { complain("goes on at \(preparation.offset) in no file") }
            store = (preparation.resource, .zero)
            file.startOver()
            (hasPart, isOpen) = (true, true)
        }
        if fails(3) { return send(.stepFailed(DownloadError(.diskFull, "after the old bytes were dropped"))) }
        if connection?.id == id { connection?.isPrepared = true }
        send(.prepared(id))
    }

    private mutating func admit(_ id: ConnectionID, _ offset: Int64, _ compare: Int64) {
        guard let open = connection, open.id == id, let body = open.body else { return }
        if !isOpen { complain("admits a body into no file") }
        if offset != file.mark.written { complain("admits at \(offset), the file ends at \(file.mark)") }
        if offset - compare != body.first { complain("admits at \(offset) what begins at \(body.first)") }
        let there = file.versions(from: offset - compare, to: offset)
        // A body that ends within the overlap is taken for another file's, as the worker does.
        if compare > 0, there != [body.version.number] || body.end < offset {
            connection = nil
            return send(.connectionEnded(id, .overlapDiffers))
        }
        connection?.stage = .flowing
        connection?.position = offset
    }

    private mutating func failSync() {
        file.loseUnsynced()
        store.mark = file.mark
    }

    private mutating func publish() {
        if fails(5) {
            failSync()
            return send(.stepFailed(DownloadError(.diskFailed, "fsync")))
        }
        file.sync()
        let versions = file.versions(from: 0, to: file.mark.written)
        let total = versions.first.flatMap { server.versions[$0]?.total } ?? 0
        if versions.count > 1 { complain("publishes bytes of the versions \(versions.sorted())") }
        if versions.contains(ShadowFile.garbage) { complain("publishes bytes that were lost") }
        if file.mark.written != total { complain("publishes \(file.mark.written) of \(total) bytes") }
        (hasPart, isOpen) = (false, false)
        send(.published(path: "/done"))
    }

    // MARK: The connection

    private mutating func proceedConnection() {
        guard let open = connection else { return }
        switch open.stage {
        case .asking:
            if fails(10) { return end(open.id, .failed(anyFailure(), .zero)) }
            let answer = isBenevolent ? server.proper(open.question) : server.answer(open.question, &random)
            connection?.stage = .held
            connection?.body = answer.body
            send(.headReceived(open.id, answer.head, retryAfter: answer.retryAfter))
        case .held:
            // The worker knows of no bytes yet and says so.
            if fails(10) {
                end(open.id, .failed(TransportError(.connectionLost, "no body"), .zero))
            } else {
                finishAnyStep()
            }
        case .flowing: proceedBody(open)
        }
    }

    private mutating func finishAnyStep() {
        if !steps.isEmpty { finishStep() }
    }

    private mutating func proceedBody(_ open: Connection) {
        if fails(2) {
            if chance(50) { failSync() }
            return end(open.id, .diskFailed(DiskError(.full, call: "pwritev", path: "/part"), file.mark))
        }
        if fails(15) { return end(open.id, .failed(anyFailure(), file.mark)) }
        guard let body = open.body, open.position < body.end else { return end(open.id, .finished(file.mark)) }
        flow()
        if chance(20) { file.sync() }
        store.mark = file.mark
        send(.bytesLanded(file.mark))
    }

    private mutating func end(_ id: ConnectionID, _ end: DownloadMachine.ConnectionEnd) {
        connection = nil
        send(.connectionEnded(id, end))
    }

    private mutating func anyFailure() -> TransportError {
        let often: [TransportError.Kind] = [.connectionLost, .stalled, .connectTimeout, .connectionRefused]
        let kinds = chance(90) ? often : TransportError.Kind.allCases
        return TransportError(kinds.randomElement(using: &random) ?? .connectionLost)
    }

    // MARK: Late events

    /// An event that must change nothing in the present state.
    private mutating func nothingOfUse() -> Event {
        let stale = ConnectionID(
            number: chance(80) ? Int.random(in: -1..<max(0, lastConnection), using: &random) : 9999
        )
        let present = ConnectionID(number: lastConnection)
        let junk = Mark(written: Int64.random(in: 0...200_000, using: &random), synced: 0)
        let head = server.proper(.whole).head
        var useless: [Event] = [
            .headReceived(stale, head, retryAfter: .seconds(3)), .prepared(stale),
            .connectionEnded(stale, .finished(junk)),
            .connectionEnded(stale, .failed(anyFailure(), junk)), .connectionEnded(stale, .overlapDiffers),
            .connectionEnded(stale, .diskFailed(DiskError(.full, call: "pwritev", path: "/part"), junk)),
            .timerFired(.init(number: (timer?.number ?? 1) - 1)), .timerFired(.init(number: 9999)),
        ]
        let state = machine.state
        if state != .queued { useless.append(.slotGranted) }
        if state != .recovering { useless += [.recovered(junk), .recovered(nil)] }
        if state != .verifying { useless += [.verified(.right), .verified(.unchecked)] }
        if state != .publishing { useless.append(.published(path: "/elsewhere")) }
        switch state {
        case .connecting: useless += [.bytesLanded(junk), .prepared(present), .stepFailed(DownloadError(.inUse, ""))]
        case .preparing: useless += [.bytesLanded(junk), .headReceived(present, head, retryAfter: nil)]
        case .transferring:
            useless += [.prepared(present), .headReceived(present, head, retryAfter: nil), .skipped(path: "/x")]
        case .resting:
            useless += [.bytesLanded(junk), .prepared(present), .connectionEnded(present, .finished(junk))]
        case .verifying, .publishing:
            useless += [.bytesLanded(junk), .connectionEnded(present, .overlapDiffers), .skipped(path: "/x")]
        case .paused, .failed:
            useless += [
                .pauseRequested, .stepFailed(DownloadError(.inUse, "")), .skipped(path: "/x"), .prepared(present),
            ]
        case .completed, .cancelled:
            useless += [
                .pauseRequested, .resumeRequested, .cancelRequested, .bytesLanded(junk), .skipped(path: "/x"),
                .stepFailed(DownloadError(.inUse, "")), .connectionEnded(present, .finished(junk)),
            ]
        case .queued, .recovering: useless += [.resumeRequested].filter { _ in state == .queued }
        }
        return useless.randomElement(using: &random) ?? .prepared(stale)
    }
}
