@testable import HaulCore

/// Rules that always hold.
extension ShadowDownload {
    /// Whether a digest will prove the result.
    var isProvable: Bool {
        machine.settings.checksum != nil || pieceHashes != nil
            || machine.resource?.digest != nil && machine.resource?.isDigestOfMirror != true
    }

    /// The digests of the pieces, if they fit the length of the file.
    private var pieceHashes: PieceHashes? {
        guard let pieces = machine.settings.pieces, let total = machine.resource?.total, pieces.covers(total)
        else {
            return nil
        }
        return pieces
    }

    /// Whether the server has no strong validator, and the user allows unverified resumption.
    var joinsBlindly: Bool {
        machine.settings.resumesUnverified && server.tags != .strong && server.dates != .strong
    }

    /// Returns whether the bytes of these origins equal those of `version`.
    func agrees(_ origins: [Int: ByteSet], with version: Int) -> Bool {
        origins.allSatisfy { server.agree($0.key, version, in: $0.value) }
    }

    /// Returns whether these bytes belong to one version of the server's file.
    func isOfOneVersion(_ bytes: ByteSet) -> Bool {
        let origins = file.origins(in: bytes)
        return origins.count < 2 || server.versions.keys.contains { agrees(origins, with: $0) }
    }

    /// Checks a body that is about to be joined to the bytes on disk.
    mutating func checkJoin(_ question: RangeRequest, _ version: Int) {
        guard question.goesOn, question.offset > 0, !isProvable, !joinsBlindly, !isExcused else { return }
        let written = file.persisted.written
        if agrees(file.origins(in: written), with: version) { return }
        // Differing bytes where nothing was compared are excused if there is no strong validator and enough was
        // compared.
        guard let known = question.known,
            !known.validator.isStrong || question.terms.source != .sameURL
                || question.terms.mayBeUnnamed
        else {
            return complain("joins \(version) to \(file.versions(in: written)) under a strong name")
        }
        let rest = written.subtracting(compared)
        let least = ComparisonPlan.blockLength * Int64(ComparisonPlan.fewestBlocks)
        if !rest.isEmpty, compared.count < least { complain("joins what it has not compared, but \(compared.text)") }
        // The file may have been replaced since the comparison.
        if rest.isEmpty, comparedWith == [version] { complain("joins what differs where it was compared") }
        isExcused = true
    }

    /// Checks that the answer for a block brings only bytes to compare.
    mutating func checkBlock(_ open: ShadowConnection, _ offset: Int64, _ compare: Int64, _ limit: Int64?) {
        if case .comparing(open.id, _) = machine.state {} else { complain("admits a block while it does not compare") }
        if offset != open.question.offset || compare != open.question.overlap || limit != 0 {
            complain("admits \(limit as Any) bytes at \(offset) behind a block")
        }
        if !file.persisted.written.containsAll(of: offset - compare..<offset) { complain("compares what it lacks") }
    }

    /// Returns whether a piece has the right digest: all of its bytes are of the final version.
    func isRight(_ index: Int) -> Bool {
        guard let pieces = machine.settings.pieces, let total = machine.resource?.total else { return true }
        let range = pieces.range(of: index, total: total)
        return range == pieces.range(of: index, total: server.finalTotal)
            && file.versions(in: range) == [ShadowServer.finalVersion]
    }

    // MARK: Holds

    /// Checks that a hold is a pause that ends only with its own reason, and that a user's pause ends only by the user.
    mutating func checkHold(_ event: Event, _ before: DownloadMachine.State, _ hold: HoldReason?) {
        if machine.hold != nil, machine.state != .paused { complain("is held and not paused") }
        guard before == .paused else { return }
        switch (event, hold) {
        case (.resumeRequested, _), (.cancelRequested, _): break
        case (.pauseRequested, _):
            if machine.state != .paused || machine.hold != nil { complain("does not stay paused as the user wished") }
        case (.holdEnded(let ended), .some(let hold)) where ended == hold:
            if machine.state != .queued { complain("does not go on when its hold ends") }
        default:
            if machine.state != .paused || machine.hold != hold { complain("leaves its pause for \(event)") }
        }
    }

    // MARK: States

    mutating func checkObligation() {
        let isMet =
            switch machine.state {
            case .queued, .paused, .completed, .failed, .cancelled: connections.isEmpty && timer == nil
            case .inspectingDisk: steps.contains(.recover)
            case .awaitingURL(let id): ask == id && connections.isEmpty && timer == nil
            case .choosing(let id):
                connections.isEmpty && timer == nil
                    && steps.contains { if case .chooseBlocks(id, _) = $0 { true } else { false } }
            case .comparing(let id, _): openIDs == [id] && connections[id]?.isAdmitted == true
            case .connecting(let id, _): openIDs == [id] && connections[id]?.stage == .awaitingURL
            case .preparing(let id, let preparation, _):
                steps.contains(.prepare(id, preparation)) && (openIDs == [id] || connections.isEmpty)
            case .transferring:
                Set(machine.transfer.active.keys) == Set(connections.keys)
                    && !(connections.isEmpty && uncheckedPieces.isEmpty)
            case .backingOff: timer != nil && connections.isEmpty
            case .verifying: connections.isEmpty && (verification != nil || steps.contains(.answerUnchecked))
            case .publishing: connections.isEmpty && steps.contains(.publish)
            }
        if !isMet {
            let lines = machine.transfer.active.keys.map(\.number).sorted()
            complain("waits for something that cannot come: open \(openIDs.map(\.number)), lines \(lines)")
        }
        if ask != machine.link.asked {
            complain("believes that \(machine.link.asked as Any) is out, it is \(ask as Any)")
        }
        switch machine.state {
        case .awaitingURL, .choosing, .comparing, .connecting, .preparing, .transferring, .backingOff: break
        default: if ask != nil { complain("asks for a link that it does not need") }
        }
        if connections.count > max(1, machine.settings.limits.connections) {
            complain("has \(connections.count) connections of \(machine.settings.limits.connections)")
        }
    }

    mutating func checkMarks() {
        let persisted = machine.persisted
        if !persisted.synced.subtracting(persisted.written).isEmpty
            || (persisted.written.ranges.first?.lowerBound ?? 0) < 0
        {
            complain("has the impossible mark \(persisted)")
        }
        switch machine.state {
        case .connecting, .transferring, .backingOff, .verifying, .publishing:
            if !persisted.written.subtracting(file.persisted.written).isEmpty
                || !persisted.synced.subtracting(file.persisted.synced).isEmpty
            {
                complain("claims \(persisted.written.text), the disk has \(file.persisted.written.text)")
            }
        case .paused, .failed:
            guard steps.isEmpty, hasPart else { return }
            if file.versions(in: persisted.written).contains(ShadowFile.garbage) || !file.has(persisted.written) {
                complain("claims \(persisted.written.text), which the disk does not have")
            }
        default: break
        }
    }

    /// Checks that every byte has been written, is owed by an open connection, or is unassigned.
    mutating func checkPlan() {
        guard case .transferring = machine.state, let plan = machine.transfer.plan else { return }
        if plan.total != machine.resource?.total { complain("plans \(plan.total) bytes") }
        var remainingRange = ByteSet()
        for (id, segment) in plan.segments.sorted(by: { $0.key.number < $1.key.number }) {
            if connections[id] == nil { complain("expects bytes of \(id), which is not open") }
            if segment.remainingRange.isEmpty || segment.end > plan.total {
                complain("expects \(segment.remainingRange) of \(id)")
            }
            if !segment.isHedge, remainingRange.intersects(segment.remainingRange) {
                complain("expects the same bytes twice")
            }
            if !segment.isHedge { remainingRange.insert(contentsOf: segment.remainingRange) }
            // The bytes that a connection owes are among those that it may still bring.
            if let open = connections[id], open.stage == .flowing, !open.isFrozen, !file.isBroken {
                let left = ByteSet(segment.remainingRange).subtracting(file.persisted.written)
                let isComing = left.subtracting(ByteSet(open.rest)).isEmpty || open.rest.upperBound == open.body?.end
                if !isComing { complain("expects \(segment.remainingRange) of \(id), which brings \(open.rest)") }
            }
        }
        for segment in plan.segments.values
        where segment.isHedge && !ByteSet(segment.remainingRange).subtracting(remainingRange).isEmpty {
            complain("has a hedge of nothing")
        }
        if !plan.receivedRanges.subtracting(file.persisted.written).isEmpty, !file.isBroken {
            complain("counts on \(plan.receivedRanges.text), the disk has \(file.persisted.written.text)")
        }
        if plan.missing != remainingRange.subtracting(plan.receivedRanges).union(plan.unassigned) {
            complain("has lost sight of bytes")
        }
    }

    /// Checks that the file never has bytes of two versions, unless a digest will show it.
    mutating func checkVersions() {
        guard !isProvable, !joinsBlindly, !isExcused, hasPart else { return }
        guard !isOfOneVersion(file.persisted.written) else { return }
        complain("joined bytes of the versions \(file.versions(in: file.persisted.written).sorted())")
    }

    // MARK: Connections

    /// Checks that the first connection requests missing bytes of the present version.
    mutating func checkFirst(_ id: ConnectionID, _ question: RangeRequest) {
        if connections.count > 1 { complain("begins with \(id) while connections are open") }
        guard question.goesOn else { return }
        let wanted = question.offset..<max(question.offset, question.end ?? machine.resource?.total ?? .max)
        if machine.persisted.written.intersects(wanted) {
            complain("asks for \(wanted) with \(machine.persisted.written.text)")
        }
        if !file.persisted.written.containsAll(of: question.first..<question.offset) {
            complain("compares what it lacks")
        }
        guard !isExcused, !joinsBlindly, !isProvable, server.mirrors.isEmpty, question.known?.mirror == nil else {
            return
        }
        let origins = file.origins(in: machine.persisted.written)
        let named = server.versions.values.filter { agrees(origins, with: $0.number) }
        if named.isEmpty { complain("continues the versions \(origins.keys.sorted())") }
        let known = question.known?.validator
        if !named.contains(where: {
            server.names(of: $0).contains(known?.entityTag?.text) && $0.date == known?.lastModified
        }) {
            complain("takes the bytes for another version")
        }
    }

    mutating func checkFurther(_ id: ConnectionID, _ question: RangeRequest) {
        guard let total = machine.resource?.total, let end = question.end else {
            return complain("opens \(id) without an end")
        }
        if machine.state != .transferring || connections.count < 2 { complain("opens \(id) beside nothing") }
        if question.offset >= end || end > total { complain("asks \(id) for \(question.offset)..<\(end)") }
    }

    /// - Parameter repeated: number of bytes that are compared at a seam; `nil` under a strong name or with a digest.
    mutating func checkFurtherBody(
        _ open: ShadowConnection,
        _ offset: Int64,
        _ limit: Int64?,
        repeated: Int64? = nil
    ) {
        guard let body = open.body, let limit else { return complain("admits \(open.id) without a limit") }
        if offset != open.question.offset || body.first != offset - (repeated ?? 0) {
            complain("admits \(body.first)... at \(offset)")
        }
        let end = machine.transfer.plan?.segments[open.id]?.end
        if end.map({ offset + limit > $0 }) ?? true {
            complain("admits \(limit) bytes at \(offset), it owes \(end as Any)")
        }
        guard repeated == nil, !isProvable, !joinsBlindly, !isExcused else { return }
        if !agrees(file.origins(in: file.persisted.written), with: body.version.number) {
            complain("admits a body of the version \(body.version.number)")
        }
    }

    // MARK: The end

    /// Checks that the file is complete before verification, and also correct if no digest is left to verify.
    mutating func checkWhole(_ checksum: DownloadRequest.Checksum?) {
        if !connections.isEmpty { complain("verifies while a connection is open") }
        let count = machine.persisted.prefix
        if count != machine.resource?.total { complain("verifies \(count) of \(machine.resource?.total as Any) bytes") }
        if checksum == nil { checkResult(0..<count) }
    }

    mutating func checkResult(_ bytes: Range<Int64>) {
        if !file.persisted.written.containsAll(of: bytes) { complain("takes \(file.persisted.written.text) for whole") }
        let versions = file.versions(in: bytes)
        if versions.contains(ShadowFile.garbage) { complain("takes bytes that were lost") }
        if !joinsBlindly, !isExcused, !isOfOneVersion(ByteSet(bytes)) {
            complain("takes bytes of the versions \(versions.sorted())")
        }
        if let pieces = pieceHashes {
            let wrong = pieces.digests.indices.filter { !isRight($0) }
            if !wrong.isEmpty { complain("takes wrong pieces \(wrong)") }
        }
    }
}
