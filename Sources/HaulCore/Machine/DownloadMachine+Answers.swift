internal import Foundation

/// Handles the events of an attempt from the end of the disk inspection to the start of the body. Judges the answers.
extension DownloadMachine {
    package mutating func recovered(_ found: PersistedRanges?, at now: Instant) -> [Action] {
        guard state == .inspectingDisk else { return [] }
        persisted = found ?? .zero
        patience.begin(at: persisted.count)
        transfer.forgetPieces()
        comparison.finish(at: nil)
        if found == nil { resource = nil }
        joining.noteFound(all: isWhole)
        return settleOr { machine in machine.isWhole ? machine.finish(at: now) : machine.open(at: now) }
    }

    package mutating func headReceived(
        _ id: ConnectionID,
        _ head: ResponseHead,
        retryAfter: Duration?,
        at now: Instant
    ) -> [Action] {
        guard case .connecting(id, let question) = state else {
            return state == .transferring ? furtherHead(id, head, retryAfter: retryAfter, at: now) : []
        }
        transfer.answers.noteFirstAnswer(at: now)
        let answer = firstAnswer(head, to: question)
        if let decision = otherFileBehindLink(head, to: question) { return [.close(id)] + retry(decision, at: now) }
        if dropsMore(answer, to: question) { return [.close(id)] + retry(otherFile, at: now) }
        if case .accept = answer, question.isComparison || question.isCompared, !comparison.isAnswered(from: head) {
            return [.close(id)] + (comparison.isAstray ? startOver(.changed, at: now) : open(at: now))
        }
        switch answer {
        case .accept where question.isComparison: return compareBody(id, question)
        case .compareFirst:
            comparison.want()
            return [.close(id)] + open(at: now)
        case .accept(let resource, let offset, let compare):
            let startsOver = offset == 0 && !question.goesOn
            return prepare(id, head, resource, offset: offset, compare: compare, startsOver: startsOver)
        case .restart(let resource, let reason):
            if reason == .changed, let error = noteChange() { return [.close(id)] + fail(error) }
            return prepare(id, head, resource, offset: 0, compare: 0, startsOver: true)
        case .alreadyComplete(let known):
            resource = known
            return [.close(id)] + (isWhole ? finish(at: now) : startOver(.changed, at: now))
        case .askWithoutCondition:
            joining.askPlain()
            return [.close(id)] + open(at: now)
        case .startOver(let reason):
            return [.close(id)] + startOver(reason, at: now)
        case .refuse(let refusal):
            return [.close(id)] + refused(refusal, head, to: question, retryAfter: retryAfter, at: now)
        }
    }

    /// Takes the answer to an additional connection.
    private mutating func furtherHead(
        _ id: ConnectionID,
        _ head: ResponseHead,
        retryAfter: Duration?,
        at now: Instant
    ) -> [Action] {
        if let renewal = renewLink(whileTransferring: id, head, at: now) { return renewal }
        let asked = transfer.active[id].flatMap { $0.source == 0 ? $0.question?.link : nil }
        let (actions, outcome) = transfer.answered(id, head, retryAfter: retryAfter, &sources, at: now)
        if let asked, transfer.active[id]?.isFlowing == true { noteGoodLink(asked) }
        return actions + follow(outcome, at: now)
    }

    /// Judges the answer to a first request, also against the size and the pieces that the user expects.
    private func firstAnswer(_ head: ResponseHead, to question: RangeRequest) -> RangeResponse {
        var earlier = persisted.count > 0 ? resource : nil
        if joining.expectsOtherVersion { earlier?.total = nil }
        let answer = RangeResponse.judge(head, to: question, after: earlier)
        guard let total = answer.resource?.total else { return answer }
        if let size = settings.size, total != size { return .refuse(.otherSize(expected: size, actual: total)) }
        if let pieces = settings.pieces, !pieces.covers(total) { return .refuse(.otherPieces(actual: total)) }
        return answer
    }

    /// Renews the link, tries again or fails after a refusal of a first request.
    private mutating func refused(
        _ refusal: RangeResponse.Refusal,
        _ head: ResponseHead,
        to question: RangeRequest,
        retryAfter: Duration?,
        at now: Instant
    ) -> [Action] {
        var decision = RetryClassifier.decision(
            on: refusal,
            host: head.url.host ?? "",
            isRedirected: head.isRedirected,
            credentials: head.credentials
        )
        if case .status(let status) = refusal, (400...410).contains(status), decision.isWorthRetrying, status != 408 {
            if !patience.renewsLink() { decision = .init(isWorthRetrying: false, error: decision.error) }
        }
        let isFinal = !decision.isWorthRetrying || refusal == .webPage
        if isFinal, let renewal = renewLink(after: decision, head, question, at: now) { return renewal }
        return retry(decision, retryAfter: retryAfter, at: now)
    }

    package mutating func prepare(
        _ id: ConnectionID,
        _ head: ResponseHead,
        _ resource: Resource,
        offset: Int64,
        compare: Int64,
        startsOver: Bool
    ) -> [Action] {
        var end = startsOver ? nil : head.contentRange?.end
        if !startsOver, case .connecting(_, let question) = state, let wanted = question.end {
            end = min(end ?? wanted, wanted)
        }
        var asked = link.number
        if case .connecting(_, let question) = state { asked = question.link }
        var resource = resource
        var afterComparing: Resource?
        if link.isVouchedFor, sources.home == 0 {
            var known = resource
            known.place = head.requested.place
            // Further requests go to this place and use its validator. If the overlap is compared, both change only
            // after the bytes agree.
            if !startsOver, compare > 0, isFromOtherPlace {
                known.validator = Validator(head)
                afterComparing = known
            } else {
                resource = known
            }
        }
        if resource.isUnproved == true {
            let proved = resource.proved(by: head)
            if compare > 0 { afterComparing = proved } else { resource = proved }
        }
        let preparation = Preparation(
            resource: resource,
            offset: offset,
            startsOver: startsOver,
            compare: compare,
            end: end,
            contentDisposition: head.headers.first(name: "Content-Disposition"),
            nameSources: [head.url, head.requested],
            mirrors: sources.home == 0 ? MirrorLinks(head.headers["Link"], base: head.url).mirrors.map(\.source) : [],
            afterComparing: afterComparing,
            link: asked
        )
        transfer.readers.noteFirstAnswer(head)
        state = .preparing(id, preparation, ended: nil)
        return [.prepare(id, preparation)]
    }

    package mutating func prepared(_ id: ConnectionID, at now: Instant) -> [Action] {
        guard case .preparing(id, let preparation, let ended) = state else { return [] }
        resource = preparation.resource
        // The link was replaced after the request, so the answer came over the previous link.
        if preparation.link != link.number, resource?.place == nil {
            resource?.place = preparation.nameSources.last?.place
        }
        if joining.rangesAreBroken { resource?.hasUsableRanges = false }
        if preparation.startsOver {
            persisted = .zero
            transfer.startOver()
        }
        comparison.finish(at: preparation.startsOver ? nil : persisted.count)
        joining.noteAnswer(
            at: persisted.count,
            mustExceed: preparation.startsOver ? patience.furthest : persisted.count
        )
        resource?.mirror = sources.mirror
        if preparation.startsOver, sources.mirror != nil, resource?.digest != nil { resource?.isDigestOfMirror = true }
        sources.note(preparation.resource.validator, of: sources.home)
        // An `https` file may come from an `http` mirror only if a digest can prove its bytes, because anybody on the
        // path may change them.
        sources.add(preparation.mirrors, insecureToo: isProvable)
        patience.noteGoodAnswer()
        noteGoodLink(preparation.link)
        return settleOr { machine in
            machine.state = .transferring
            machine.begin((id, preparation.offset, preparation.end, preparation.compare), at: now)
            machine.transfer.overlap.expect(preparation.afterComparing)
            if let ended { return machine.connectionEnded(id, machine.withoutBody(ended), at: now) }
            // A range that ends within the overlap brings no new bytes.
            let limit = (preparation.end ?? machine.resource?.total).map { max(0, $0 - preparation.offset) }
            let startBody = Action.startBody(id, at: preparation.offset, compare: preparation.compare, limit: limit)
            if machine.transfer.isTooShortToShare { return [startBody, .report] }
            let (further, outcome) = machine.transfer.advance(machine.persisted, &machine.sources, at: now)
            return [startBody] + further + [.report] + machine.follow(outcome, at: now)
        }
    }

    /// Returns `end` for a connection whose body was never written: a complete body becomes a lost connection. The
    /// ranges of `end` are dropped, because they are from before the preparation of the file.
    ///
    /// A disk failure keeps only the ranges that both `end` and `persisted` contain: `end` lacks the bytes that the
    /// disk has lost, `persisted` those that the preparation has dropped.
    func withoutBody(_ end: ConnectionEnd) -> ConnectionEnd {
        switch end {
        case .finished: .failed(TransportError(.connectionLost, "the body ended before it was let in"), nil)
        case .failed(let error, _): .failed(error, nil)
        case .overlapDiffers: end
        case .diskFailed(let error, let left):
            .diskFailed(
                error,
                PersistedRanges(
                    written: left.written.intersection(persisted.written),
                    synced: left.synced.intersection(persisted.synced)
                )
            )
        case .noConnectionSlot: end
        }
    }

}
