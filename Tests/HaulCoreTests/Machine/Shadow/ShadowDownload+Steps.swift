@testable import HaulCore

/// The engine's steps on the file, one after another.
extension ShadowDownload {
    mutating func finishStep() {
        let step = steps.removeFirst()
        switch step {
        case .recover: recover()
        case .prepare(let id, let preparation): prepare(id, preparation)
        case .chooseBlocks(let id, let plan): chooseBlocks(id, plan)
        case .startBody(let id, let offset, let compare, let limit): startBody(id, offset, compare, limit)
        case .startBodyAtSeam(let id, let offset, let repeated, let limit): startBodyAtSeam(id, offset, repeated, limit)
        case .checkpoint:
            guard isOpen else { return }
            if fails(10) { file.failSync() } else { file.sync() }
            send(.bytesLanded(file.persisted))
            store.persisted = file.persisted
        case .answerUnchecked: answer(.unchecked)
        case .publish: publish()
        case .setAside, .discard:
            (hasPart, isOpen, isExcused, file) = (false, false, false, ShadowFile())
            store.persisted = .zero
        case .release:
            isOpen = false
            uncheckedPieces = []
        }
    }

    private mutating func recover() {
        if fails(4) { return send(.stepFailed(DownloadError(.inUse, "another process"))) }
        if fails(1) { return send(.skipped(path: "/there")) }
        if fails(2) { return send(.spaceMissing(chance(80) ? anyReason() : nil, ShadowDownload.noSpace)) }
        if fails(2) { hasPart = false }
        guard hasPart else {
            file = ShadowFile()
            isExcused = false
            return send(.recovered(nil))
        }
        isOpen = true
        let claim = store.persisted
        let isThere = claim.count > 0 && file.has(claim.written)
        file.reopen(isThere ? claim : .zero)
        send(.recovered(isThere ? claim : nil, of: .init(resource: store.resource)))
    }

    private mutating func prepare(_ id: ConnectionID, _ preparation: DownloadMachine.Preparation) {
        if fails(2) { return send(.skipped(path: "/there")) }
        if fails(3) { return send(.stepFailed(DownloadError(.storeFailed, "before anything was touched"))) }
        if !isOpen || preparation.startsOver {
            if !preparation.startsOver { complain("goes on at \(preparation.offset) in no file") }
            store = (preparation.resource, .zero)
            file.startOver()
            seams = []
            (hasPart, isOpen, isExcused) = (true, true, false)
        }
        if fails(3) { return send(.stepFailed(DownloadError(.diskFull, "after the old bytes were dropped"))) }
        if fails(2) { return send(.spaceMissing(chance(80) ? anyReason() : nil, ShadowDownload.noSpace)) }
        connections[id]?.isPrepared = true
        send(.prepared(id))
    }

    private mutating func startBody(_ id: ConnectionID, _ offset: Int64, _ compare: Int64, _ limit: Int64?) {
        guard let open = connections[id] else { return }
        guard let body = open.body else {
            // The body of a refusal or of a page is not modelled. Its connection breaks, and does not stay for ever.
            connections[id] = nil
            return send(.connectionEnded(id, .failed(TransportError(.connectionLost, "no body"), file.persisted)))
        }
        if !isOpen { complain("admits a body into no file") }
        if offset - compare != body.first { complain("admits at \(offset) what begins at \(body.first)") }
        let again = ByteSet(offset - compare..<offset)
        // A body that ends within the overlap counts as another file, as in the worker.
        if compare > 0, !agrees(file.origins(in: again), with: body.version.number) || body.end < offset {
            connections[id] = nil
            return send(.connectionEnded(id, .overlapDiffers))
        }
        compared.formUnion(again)
        comparedWith.insert(body.version.number)
        if !open.question.isComparison { checkJoin(open.question, body.version.number) }
        connections[id]?.stage = .flowing
        connections[id]?.position = offset
        // A limit that was set since the admission takes precedence.
        if let limit, open.limit == .max { connections[id]?.limit = offset + limit }
    }

    /// Compares the repeated bytes with those that are there. The others are compared when they come.
    private mutating func startBodyAtSeam(_ id: ConnectionID, _ offset: Int64, _ repeated: Int64, _ limit: Int64) {
        guard let open = connections[id], let body = open.body else {
            connections[id] = nil
            return send(.connectionEnded(id, .failed(TransportError(.connectionLost, "no body"), file.persisted)))
        }
        if !isOpen { complain("admits a body into no file") }
        let (again, version) = (ByteSet(offset - repeated..<offset), body.version.number)
        let here = file.origins(in: again.intersection(file.persisted.written))
        guard agrees(here, with: version),
            seams.allSatisfy({ server.agree($0.version, version, in: $0.bytes.intersection(again)) })
        else {
            connections[id] = nil
            return send(.connectionEnded(id, .overlapDiffers))
        }
        seams.append((again, version))
        // What differs only where no seam lies is the mixture that the words of the promise allow.
        if !isProvable, !agrees(file.origins(in: file.persisted.written), with: version) { isExcused = true }
        connections[id]?.stage = .flowing
        connections[id]?.position = offset
        if open.limit == .max { connections[id]?.limit = offset + limit }
    }

    private mutating func chooseBlocks(_ id: DownloadMachine.ChoiceID, _ plan: ComparisonPlan) {
        if !isOpen { complain("chooses blocks of no file") }
        if fails(2) { return send(.blocksUnreadable(id, DownloadError(.diskFailed, "read error"))) }
        // A part of the bytes on disk may be zeros.
        let zeros = chance(30) ? 0..<Int64.random(in: 0...file.persisted.prefix, using: &random) : 0..<0
        let blocks = plan.blocks { !zeros.contains($0.lowerBound) }
        if !file.persisted.written.containsAll(blocks) { complain("compares what it lacks: \(blocks)") }
        send(.blocksChosen(id, blocks))
    }

    private mutating func publish() {
        if fails(5) {
            file.failSync()
            store.persisted = file.persisted
            return send(.stepFailed(DownloadError(chance(50) ? .diskFailed : .diskFull, "fsync")))
        }
        file.sync()
        let total = machine.persisted.prefix
        checkResult(0..<total)
        if let number = file.versions(in: file.persisted.written).first, let version = server.versions[number],
            version.total != total, !isExcused, !joinsBlindly
        {
            complain("publishes \(total) of \(version.total) bytes")
        }
        (hasPart, isOpen) = (false, false)
        // Another process has published the file first.
        if fails(2) { return send(.skipped(path: "/there")) }
        send(.published(path: "/done"))
    }
}

extension ByteSet {
    fileprivate func containsAll(_ blocks: [Range<Int64>]) -> Bool { blocks.allSatisfy { containsAll(of: $0) } }
}
