internal import Foundation
internal import NIOHTTP1

/// From what is on the disk to a body that may flow: the question, and what its answer is worth.
extension DownloadMachine {
    mutating func recovered(_ found: PersistedRanges?, at now: Instant) -> [Action] {
        guard state == .inspectingDisk else { return [] }
        persisted = found ?? .zero
        patience.begin(at: persisted.count)
        transfer.forgetPieces()
        comparison.finish(at: nil)
        if found == nil { resource = nil }
        return settleOr { machine in machine.isWhole ? machine.finish(at: now) : machine.open(at: now) }
    }

    var isWhole: Bool {
        guard let total = resource?.total, hasExpectedSize else { return false }
        return total > 0 && persisted.prefix >= total
    }

    /// False when what is known of the file has another length than it was to have.
    var hasExpectedSize: Bool {
        guard let size = settings.size, let total = resource?.total else { return true }
        return size == total
    }

    mutating func open(at now: Instant) -> [Action] {
        if sources.home == 0, let reason = link.need(at: now) { return awaitLink(reason, at: now) }
        let id = transfer.issueID()
        var question = RangeRequest.whole
        if let resource, persisted.count > 0, !dropsWhatIsThere, hasExpectedSize,
            let gap = persisted.written.firstGap(before: resource.total)
        {
            let isMirror = resource.mirror != sources.mirror
            let isFromElsewhere = isFromReplacedSource || isMirror || isFromOtherPlace
            question = .resuming(
                resource,
                at: gap.lower,
                until: gap.upper == resource.total ? nil : gap.upper,
                resumesUnverified: settings.resumesUnverified || isProvable || isVouchedFor,
                isPlain: asksPlain,
                isFromReplacedSource: isFromElsewhere
            )
            question.isProvable = isProvable
            question.isFromMirror = isMirror
            question.isVouchedFor = isVouchedFor
            question.mayBeUnnamed = settings.resumesUnverified || isVouchedFor && resource.validator.isEmpty
        }
        question.source = sources.home
        question.link = link.number
        if let first = compare(before: &question) { return first }
        countAtOpen = persisted.count
        state = .connecting(id, question)
        return [.open(id, question), .report]
    }

    /// The application says that what is asked now is the file that is here in part.
    private var isVouchedFor: Bool { link.isVouchedFor && sources.home == 0 && resource?.mirror == nil }

    /// What is here came from another place than the link leads to now.
    var isFromOtherPlace: Bool {
        guard let resource, resource.mirror == nil, let place = resource.place else { return false }
        return !place.isSamePlace(as: settings.url)
    }

    /// A digest will show whether the result is right, wherever its bytes came from: one that the user gave, or one of the
    /// first server's own that nobody can forge. A mirror's word on its own file proves nothing about another's.
    var isProvable: Bool {
        if settings.checksum != nil || pieces(for: resource?.total) != nil { return true }
        guard let resource, resource.isDigestOfMirror != true, let digest = resource.digest else { return false }
        return digest.algorithm.isCollisionResistant
    }

    mutating func headReceived(
        _ id: ConnectionID,
        _ head: ResponseHead,
        retryAfter: Duration?,
        at now: Instant
    ) -> [Action] {
        guard case .connecting(id, let question) = state else {
            guard state == .transferring else { return [] }
            if let renewal = renewLink(whileTransferring: id, head, at: now) { return renewal }
            let asked = transfer.active[id].flatMap { $0.source == 0 ? $0.question?.link : nil }
            let (actions, outcome) = transfer.answered(id, head, retryAfter: retryAfter, &sources, at: now)
            if let asked, transfer.active[id]?.isFlowing == true { noteGoodLink(asked) }
            return actions + follow(outcome, at: now)
        }
        var answer = RangeResponse.judge(head, to: question, after: persisted.count > 0 ? resource : nil)
        if let size = settings.size, let total = answer.resource?.total, total != size {
            answer = .refuse(.otherSize(expected: size, actual: total))
        }
        if let total = answer.resource?.total, let pieces = settings.pieces, !pieces.covers(total) {
            answer = .refuse(.otherPieces(actual: total))
        }
        if let decision = otherFileBehindLink(head, to: question) { return [.close(id)] + retry(decision, at: now) }
        if dropsMore(answer, to: question) { return [.close(id)] + retry(otherFile, at: now) }
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
            asksPlain = true
            return [.close(id)] + open(at: now)
        case .startOver(let reason):
            return [.close(id)] + startOver(reason, at: now)
        case .refuse(let refusal):
            var decision = RetryClassifier.decision(
                on: refusal,
                host: sources.url.host ?? "",
                isRedirected: head.isRedirected
            )
            if case .status(let status, _) = refusal, (400...410).contains(status), decision.isWorthRetrying,
                status != 408
            {
                if !patience.renewsLink() { decision = .init(isWorthRetrying: false, error: decision.error) }
            }
            let isFinal = !decision.isWorthRetrying || refusal == .webPage
            if isFinal, let renewal = renewLink(after: decision, head, question, at: now) {
                return [.close(id)] + renewal
            }
            return [.close(id)] + retry(decision, retryAfter: retryAfter, at: now)
        }
    }

    /// Whether going by this answer would throw away what only another source, or nobody, can give back: a mirror's word that
    /// the file is another one counts for nothing without a proof, and a file that is being repaired is not emptied.
    func dropsMore(_ answer: RangeResponse, to question: RangeRequest? = nil) -> Bool {
        guard let resource, persisted.count > 0, settings.isRepair || !dropsWhatIsThere else { return false }
        // The URL that the user named speaks for itself.
        let isForeign = sources.mirror != nil && resource.mirror != sources.mirror && !isProvable
        guard settings.isRepair || isForeign else { return false }
        switch answer {
        case .restart, .startOver: return true
        case .accept: return question?.goesOn == false
        case .alreadyComplete, .askWithoutCondition, .compareFirst, .refuse: return false
        }
    }

    /// This source is not asked again, if there is another.
    var otherFile: RetryClassifier.Decision {
        .init(
            isWorthRetrying: false,
            error: DownloadError(
                .contentChanged,
                "\(sources.url.host ?? "The server") has another file, or cannot send a part of it. The received bytes are kept."
            )
        )
    }

    mutating func prepare(
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
            // From here on this place is asked, and by its own name for the version; but not before the bytes agree.
            if !startsOver, compare > 0, isFromOtherPlace {
                known.validator = Validator(head)
                afterComparing = known
            } else {
                resource = known
            }
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
        state = .preparing(id, preparation, ended: nil)
        return [.prepare(id, preparation)]
    }

    mutating func prepared(_ id: ConnectionID, at now: Instant) -> [Action] {
        guard case .preparing(id, let preparation, let ended) = state else { return [] }
        resource = preparation.resource
        // The link was replaced meanwhile: it was the one before that led here.
        if preparation.link != link.number, resource?.place == nil {
            resource?.place = preparation.nameSources.last?.place
        }
        if rangesAreBroken { resource?.hasUsableRanges = false }
        if preparation.startsOver {
            persisted = .zero
            transfer.startOver()
        }
        comparison.finish(at: preparation.startsOver ? nil : persisted.count)
        countAtOpen = persisted.count
        dropsWhatIsThere = false
        asksPlain = false
        isFromReplacedSource = false
        resource?.mirror = sources.mirror
        if preparation.startsOver, sources.mirror != nil, resource?.digest != nil { resource?.isDigestOfMirror = true }
        sources.note(preparation.resource.validator, of: sources.home)
        // What anybody on the way may have changed needs a digest to prove it.
        sources.add(preparation.mirrors, insecureToo: isProvable)
        patience.noteGoodAnswer()
        noteGoodLink(preparation.link)
        return settleOr { machine in
            machine.state = .transferring
            machine.begin((id, preparation.offset, preparation.end, preparation.compare), at: now)
            machine.transfer.afterComparing = preparation.afterComparing
            if let ended { return machine.connectionEnded(id, machine.withoutBody(ended), at: now) }
            // A range that ends within the overlap brings nothing.
            let limit = (preparation.end ?? machine.resource?.total).map { max(0, $0 - preparation.offset) }
            let startBody = Action.startBody(id, at: preparation.offset, compare: preparation.compare, limit: limit)
            if machine.transfer.isTooShortToShare { return [startBody, .report] }
            let (further, outcome) = machine.transfer.advance(machine.persisted, &machine.sources, at: now)
            return [startBody] + further + [.report] + machine.follow(outcome, at: now)
        }
    }

    mutating func begin(_ first: Transfer.First?, at now: Instant) {
        guard let resource else { return }
        transfer.begin(
            first,
            Transfer.Terms(
                resource: resource,
                isProvable: isProvable,
                resumesUnverified: settings.resumesUnverified,
                pieces: pieces(for: resource.total),
                limits: settings.limits
            ),
            persisted,
            sources,
            knownLimit: knownLimit,
            at: now
        )
        transfer.isHomeForeign = isFromOtherPlace
    }

    /// The digests of the pieces, if they are those of a file of this size.
    func pieces(for total: Int64?) -> PieceHashes? {
        guard let total, let pieces = settings.pieces, pieces.covers(total) else { return nil }
        return pieces
    }

    /// The end of a connection whose body was never let in: what it says of marks is older than what the file was
    /// made ready for. Only a disk that took bytes back is to be believed.
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
        case .noRoom: end
        }
    }

    mutating func startOver(_ reason: RangeResponse.StartOver, at now: Instant) -> [Action] {
        if dropsMore(.startOver(reason)) { return retry(otherFile, at: now) }
        if reason == .changed, let error = noteChange() { return fail(error) }
        if reason == .noUsableRange { rangesAreBroken = true }
        comparison.finish(at: nil)
        // What is on disk stays until the new answer is there to replace it.
        dropsWhatIsThere = true
        return open(at: now)
    }

    /// Counts a change of the file at the server; returns the error once that is no longer to be followed.
    mutating func noteChange() -> DownloadError? {
        let isOneTooMany = !patience.followsChange()
        if settings.failsOnChange {
            return DownloadError(
                .contentChanged,
                "Another version of the file stands at the URL. What arrived of the old one is kept."
            )
        }
        guard isOneTooMany else { return nil }
        return DownloadError(
            .contentChanged,
            "The file keeps changing at the server: \(patience.changes) versions came by. Try again later."
        )
    }
}
