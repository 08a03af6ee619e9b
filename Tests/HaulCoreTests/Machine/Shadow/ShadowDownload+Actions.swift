@testable import HaulCore

/// The effects of the machine's actions.
extension ShadowDownload {
    mutating func apply(_ action: Action) {
        switch action {
        case .recover:
            if !isReleased || !connections.isEmpty { complain("recovers a file that it holds") }
            isReleased = false
            steps.append(.recover)
        case .open(let id, let question): open(id, question)
        case .askForSource(let id, let reason): askForSource(id, reason)
        case .cancelSource(let id):
            if ask != id { complain("takes back the question \(id), which is not out") }
            ask = nil
        case .chooseBlocks(let id, let plan): steps.append(.chooseBlocks(id, plan))
        case .prepare(let id, let preparation):
            guard connections[id]?.stage == .held else { return complain("prepares for \(id), which has no answer") }
            if connections[id]?.preparation != nil { complain("prepares twice for \(id)") }
            connections[id]?.preparation = preparation
            steps.append(.prepare(id, preparation))
        case .startBody(let id, let offset, let compare, let limit): startBody(id, offset, compare, limit)
        case .startBodyAtSeam(let id, let offset, let repeated, let limit):
            startBodyAtSeam(id, offset, repeated, limit)
        case .shorten(let id, let end): shorten(id, end)
        case .close(let id):
            guard connections[id] != nil else { return complain("closes \(id), which is not open") }
            // The bytes that the connection has received are still written.
            flow(id)
            connections[id] = nil
        case .checkPiece(let index):
            if !isOpen { complain("checks a piece of no file") }
            uncheckedPieces.append(index)
        case .forget(let range):
            if !isOpen { complain("forgets bytes of no file") }
            file.forget(range)
            store.persisted = file.persisted
        case .learnLimit(let limit):
            if limit < 1 { complain("learns that the host allows \(limit) connections") }
        case .learnWorth(let count):
            if count < 2 { complain("learns that \(count) connections are worth it") }
        case .learnChangeUnderOneName:
            if server.tags == .strong { complain("learns a change under one name, which is strong") }
        case .checkpoint: steps.append(.checkpoint)
        case .startTimer(let id, let wait):
            if timer != nil { complain("starts a timer while one runs") }
            let policy = machine.settings.retry
            if wait < .zero || wait > max(policy.cap, policy.retryAfterCap) { complain("waits \(wait)") }
            timer = id
        case .cancelTimer(let id):
            if timer != id { complain("cancels \(id), which does not run") }
            timer = nil
        case .cancelVerification: verification = nil
        case .verify, .publish, .setAside, .discardPartial, .releaseFile: finish(action)
        case .assemble: complain("assembles a file that is no film")
        case .report: report()
        }
    }

    private mutating func finish(_ action: Action) {
        switch action {
        case .verify(let checksum):
            checkWhole(checksum)
            if checksum == nil { steps.append(.answerUnchecked) } else { verification = checksum }
            lastVerdict = nil
        case .publish:
            if lastVerdict != .right, lastVerdict != .unchecked { complain("publishes after \(lastVerdict as Any)") }
            if !connections.isEmpty || isReleased { complain("publishes what it does not hold still") }
            steps.append(.publish)
        case .setAside:
            guard case .mismatch? = lastVerdict else { return complain("sets aside after \(lastVerdict as Any)") }
            steps.append(.setAside)
        case .discardPartial:
            if machine.state != .cancelled { complain("discards the file uncancelled") }
            steps.append(.discard)
        case .releaseFile:
            if !connections.isEmpty { complain("releases a file that is written to") }
            isReleased = true
            steps.append(.release)
        default: break
        }
    }

    private mutating func open(_ id: ConnectionID, _ question: RangeRequest) {
        if id.number <= lastConnection { complain("uses \(id) again") }
        if isReleased { complain("opens \(id) without the file") }
        if timer != nil, case .backingOff? = log.dropLast().last?.state { timer = nil }
        if timer != nil { complain("opens \(id) while a timer runs") }
        lastConnection = max(lastConnection, id.number)
        let paces: [Int64] = [server.current.total / 200, server.current.total / 20, server.current.total]
        connections[id] = ShadowConnection(
            id: id,
            question: question,
            url: machine.sources.sources[question.source].url,
            pace: max(1, paces.randomElement(using: &random) ?? 1),
            isFrozen: fails(5)
        )
        if case .connecting(id, _) = machine.state { checkFirst(id, question) } else { checkFurther(id, question) }
    }

    private mutating func startBody(_ id: ConnectionID, _ offset: Int64, _ compare: Int64, _ limit: Int64?) {
        guard let open = connections[id], open.stage == .held, !open.isAdmitted else {
            return complain("admits \(id), which is not open")
        }
        if isReleased { complain("admits a body into a released file") }
        if compare < 0 || compare > offset { complain("compares \(compare) bytes before \(offset)") }
        if let limit, limit < 0 { complain("admits \(limit) bytes") }
        if let preparation = open.preparation {
            if !open.isPrepared { complain("admits \(id) into a file that is not ready") }
            let end = preparation.end ?? machine.resource?.total
            if limit != end.map({ max(0, $0 - offset) }) {
                complain("limits to \(limit as Any) at \(offset) of \(end as Any)")
            }
        } else if open.question.isComparison {
            checkBlock(open, offset, compare, limit)
        } else {
            checkFurtherBody(open, offset, limit)
        }
        connections[id]?.isAdmitted = true
        steps.append(.startBody(id, at: offset, compare: compare, limit: limit))
    }

    private mutating func startBodyAtSeam(_ id: ConnectionID, _ offset: Int64, _ repeated: Int64, _ limit: Int64) {
        guard let open = connections[id], open.stage == .held, !open.isAdmitted else {
            return complain("admits \(id), which is not open")
        }
        if isReleased { complain("admits a body into a released file") }
        if repeated != min(offset, RangeRequest.overlapLength) { complain("compares \(repeated) bytes at a seam") }
        checkFurtherBody(open, offset, limit, repeated: repeated)
        connections[id]?.isAdmitted = true
        steps.append(.startBodyAtSeam(id, at: offset, repeated: repeated, limit: limit))
    }

    private mutating func shorten(_ id: ConnectionID, _ end: Int64) {
        guard connections[id] != nil else { return complain("narrows \(id), which is not open") }
        // The bytes received before are written even beyond the new end.
        if chance(30) { flow(id) }
        connections[id]?.limit = end
    }

    /// Writes some more bytes of the body to the file.
    mutating func flow(_ id: ConnectionID) {
        guard let open = connections[id], let body = open.body, !open.rest.isEmpty else { return }
        let rest = open.rest
        let pace = isBenevolent ? max(open.pace, 1 + body.version.total / 20) : open.pace
        let count = Int64.random(in: 1...min(rest.upperBound - rest.lowerBound, pace), using: &random)
        let brought = ByteSet(open.position..<open.position + count)
        let again = file.origins(in: seams.isEmpty ? ByteSet() : brought.intersection(file.persisted.written))
        let fresh = brought.subtracting(file.persisted.written)
        guard agrees(again, with: body.version.number),
            seams.allSatisfy({ server.agree($0.version, body.version.number, in: $0.bytes.intersection(fresh)) })
        else {
            connections[id]?.hasMixed = true
            return
        }
        connections[id]?.position += count
        if !open.question.isComparison { (compared, comparedWith) = (ByteSet(), []) }
        file.write(open.position..<open.position + count, of: body.version.number)
    }

    private mutating func report() {
        if machine.state == lastReported, machine.hold == lastReportedHold { complain("reports twice") }
        (lastReported, lastReportedHold) = (machine.state, machine.hold)
        store.resource = machine.resource
        switch machine.state {
        case .completed, .failed, .cancelled:
            let isNewEnd = machine.state != .cancelled
            if hasReportedEnd, isNewEnd { complain("reports two ends of one run") }
            hasReportedEnd = true
        case .queued: hasReportedEnd = false
        default:
            if hasReportedEnd, machine.state != .paused { complain("goes on after its end was reported") }
        }
    }
}
