import Foundation

@testable import HaulCore

/// The events that may happen next.
extension ShadowDownload {
    /// The origin of an event that is due.
    private enum Source { case slot, step, connection(ConnectionID), piece, tick, timer, verification, ask }

    private var sources: [Source] {
        var sources: [Source] = []
        if machine.state == .queued, steps.isEmpty { sources.append(.slot) }
        if !steps.isEmpty { sources.append(.step) }
        // A connection whose head is held may break. In a kind world it waits for the next step instead.
        let mayAct = openIDs.filter { !isBenevolent || connections[$0]?.stage != .held }
        sources += mayAct.map { .connection($0) }
        if !uncheckedPieces.isEmpty { sources.append(.piece) }
        if case .transferring = machine.state { sources.append(.tick) }
        if timer != nil { sources.append(.timer) }
        if verification != nil { sources.append(.verification) }
        if ask != nil { sources.append(.ask) }
        return sources
    }

    private mutating func passTime() {
        now = now + .milliseconds(Int.random(in: 0...300, using: &random))
    }

    /// Sends one event of a hostile world.
    mutating func proceedHostilely() {
        passTime()
        if chance(20) { return sendLate(nothingOfUse()) }
        switch Int.random(in: 0..<1000, using: &random) {
        case 0..<20: return send(.pauseRequested)
        case 20..<50: return send(.resumeRequested)
        case 50..<52: return send(.cancelRequested)
        case 52..<60: return restart(afterPowerCut: chance(50), fromReplacedSource: chance(20))
        case 60..<66: return server.change(&random)
        case 66..<76 where machine.state == .queued: return send(.slotGranted)
        case 76..<96: return send(.connectionWanted([anyHost()]))
        case 96..<106: return replaceLink()
        case 106..<116 where machine.link.canAsk: server.revoked = links
        case 116..<146: return send(.held(anyReason()))
        case 146..<166: return send(.holdEnded(anyReason()))
        case 166..<206: return send(.readersWait(anyPositions()))
        default: break
        }
        if let hold = machine.hold, chance(50) { return send(.holdEnded(hold)) }
        if isAtRest, steps.isEmpty || chance(30) { return send(.resumeRequested) }
        act()
    }

    mutating func anyReason() -> HoldReason { HoldReason.allCases.randomElement(using: &random) ?? .offline }
    /// Returns the positions of up to two readers, some of them outside the file.
    private mutating func anyPositions() -> [Int64] {
        let total = machine.resource?.total ?? 100
        return (0..<Int.random(in: 0...2, using: &random)).map { _ in
            Int64.random(in: -2...max(total, 0), using: &random)
        }
    }

    static let noSpace = DownloadError(.diskFull, "no space")

    private mutating func anyHost() -> Origin {
        let source = Int.random(in: 0...server.mirrors.count, using: &random)
        return Origin(source == 0 ? ShadowServer.url : ShadowServer.url(ofMirror: source))
    }

    /// Lets time pass and performs one thing that is due. Servers and disks cause no faults if `isBenevolent` is set.
    mutating func proceed() {
        passTime()
        act()
    }

    private mutating func act() {
        let sources = sources
        if isAtRest, sources.isEmpty {
            if let hold = machine.hold { send(.holdEnded(hold)) } else if !isOver { send(.resumeRequested) }
            return
        }
        guard let source = sources.randomElement(using: &random) else { return complain("is stuck") }
        switch source {
        case .slot: send(.slotGranted)
        case .step: finishStep()
        case .connection(let id): proceedConnection(id)
        case .piece: checkPiece()
        case .tick: tick()
        case .timer: fireTimer()
        case .verification: finishVerification()
        case .ask: answerAsk()
        }
    }

    private mutating func tick() {
        if fails(1) { return send(.spaceMissing(anyReason(), ShadowDownload.noSpace)) }
        if chance(20) { file.sync() }
        store.persisted = file.persisted
        send(.bytesLanded(file.persisted))
    }

    private mutating func fireTimer() {
        guard let fired = timer else { return }
        now = now + .seconds(400)
        // Cleared first, because the machine may start a new timer.
        timer = nil
        send(.timerFired(fired))
    }

    private mutating func checkPiece() {
        let index = uncheckedPieces.removeFirst()
        if fails(2) { return send(.stepFailed(DownloadError(.diskFailed, "read error"))) }
        send(.pieceChecked(index, isRight: isRight(index)))
    }

    private mutating func finishVerification() {
        guard let expected = verification else { return }
        verification = nil
        if fails(3) { return send(.stepFailed(DownloadError(.diskFailed, "read error"))) }
        let versions = file.versions(in: file.persisted.written)
        let version = versions.count == 1 ? versions.first.flatMap { server.versions[$0] } : nil
        let isWhole = version.map { $0.total == file.persisted.prefix } ?? false
        let actual = ShadowServer.digest(of: isWhole ? version?.number ?? 0 : 0xFFFF)
        // Without any bytes, the digest is right for a version of length 0.
        let isRight = actual == expected || (versions.isEmpty && server.current.total == 0)
        answer(isRight ? .right : .mismatch(expected: expected, actual: actual))
    }

    mutating func answer(_ decision: DownloadMachine.Decision) {
        if machine.state == .verifying { lastVerdict = decision }
        send(.verified(decision))
    }

    // MARK: Late events

    /// Returns an event that must have no effect in the present state.
    private mutating func nothingOfUse() -> Event {
        let stale = staleConnection()
        let present = ConnectionID(number: lastConnection)
        let junk = junkMark()
        let head = server.proper(.whole).head
        var useless: [Event] = [
            .headReceived(stale, head, retryAfter: .seconds(3)), .prepared(stale),
            .connectionEnded(stale, .finished(junk)), .connectionEnded(stale, .noConnectionSlot),
            .connectionEnded(stale, .failed(anyFailure(), junk)), .connectionEnded(stale, .overlapDiffers),
            .connectionEnded(stale, .diskFailed(DiskError(.full, call: "pwritev", path: "/part"), junk)),
            .timerFired(.init(number: (timer?.number ?? 1) - 1)), .timerFired(.init(number: 9999)),
            .blocksChosen(.init(number: 9999), [0..<5]), .blocksUnreadable(.init(number: 0), ShadowDownload.noSpace),
            .pieceChecked(-1, isRight: false), .pieceChecked(9999, isRight: true),
            .sourceFound(.init(number: 9999), .init(url: ShadowServer.url)),
            .sourceFailed(.init(number: (ask?.number ?? 1) - 1), DownloadError(.sourceFailed, "late")),
        ]
        let state = machine.state
        if state != .queued { useless.append(.slotGranted) }
        if state != .inspectingDisk { useless += [.recovered(junk), .recovered(nil)] }
        if state != .verifying { useless += [.verified(.right), .verified(.unchecked)] }
        if state != .publishing { useless.append(.published(path: "/elsewhere")) }
        if state != .transferring { useless.append(.connectionWanted([anyHost()])) }
        // During a short step the event may cancel a request that is still pending.
        let isTorn = [.inspectingDisk, .publishing].contains(state) || steps.contains(where: \.isPreparation)
        if !isTorn, let reason = HoldReason.allCases.first(where: { $0 != machine.hold }) {
            useless.append(.holdEnded(reason))
            if state != .transferring { useless.append(.spaceMissing(reason, ShadowDownload.noSpace)) }
        }
        switch state {
        case .choosing, .comparing:
            useless += [.bytesLanded(junk), .prepared(present), .stepFailed(DownloadError(.inUse, ""))]
        case .connecting: useless += [.bytesLanded(junk), .prepared(present), .stepFailed(DownloadError(.inUse, ""))]
        case .preparing: useless += [.bytesLanded(junk), .headReceived(present, head, retryAfter: nil)]
        case .transferring:
            useless += [.prepared(present), .skipped(path: "/x")]
            let flowing = openIDs.filter { connections[$0]?.stage == .flowing }
            useless += flowing.map { .headReceived($0, head, retryAfter: nil) }
        case .backingOff:
            useless += [.bytesLanded(junk), .prepared(present), .connectionEnded(present, .finished(junk))]
        case .verifying, .publishing:
            useless += [.bytesLanded(junk), .connectionEnded(present, .overlapDiffers)]
            if state == .verifying { useless.append(.skipped(path: "/x")) }
            useless.append(.pieceChecked(0, isRight: false))
            useless += [.held(.offline), .held(.metered), .held(.outsideHours)]
        case .paused, .failed:
            if machine.hold == nil { useless.append(.pauseRequested) }
            useless += [
                .held(anyReason()), .stepFailed(DownloadError(.inUse, "")), .skipped(path: "/x"), .prepared(present),
            ]
        case .completed, .cancelled:
            useless += [
                .pauseRequested, .resumeRequested, .cancelRequested, .bytesLanded(junk), .skipped(path: "/x"),
                .held(anyReason()),
                .stepFailed(DownloadError(.inUse, "")), .connectionEnded(present, .finished(junk)),
                .sourceReplaced(.init(url: ShadowServer.url)),
            ]
        case .queued: useless.append(.resumeRequested)
        case .awaitingURL:
            useless += [.bytesLanded(junk), .prepared(present), .connectionEnded(present, .finished(junk))]
        case .inspectingDisk: break
        }
        return useless.randomElement(using: &random) ?? .prepared(stale)
    }

    /// Returns a connection that is not open.
    private mutating func staleConnection() -> ConnectionID {
        let id = ConnectionID(number: Int.random(in: -1..<max(0, lastConnection), using: &random))
        return chance(20) || connections[id] != nil ? ConnectionID(number: 9999) : id
    }

    private mutating func junkMark() -> PersistedRanges {
        let lower = Int64.random(in: 0...200_000, using: &random)
        return PersistedRanges(written: ByteSet(lower..<lower + 5000), synced: ByteSet())
    }
}
