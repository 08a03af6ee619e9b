internal import Foundation
internal import NIOHTTP1

/// The next attempt: which request is sent, over which link, after which wait, and when there is none.
extension DownloadMachine {
    // MARK: Requests

    mutating func open(at now: Instant) -> [Action] {
        if sources.home == 0, let reason = link.need(at: now) { return awaitLink(reason, at: now) }
        let id = transfer.issueID()
        var question = RangeRequest.whole
        if let resource, persisted.count > 0, !dropsWhatIsThere, hasExpectedSize,
            mayResume(resource), let gap = persisted.written.firstGap(before: resource.total) ?? endToCompare(resource)
        {
            question = .resuming(
                resource,
                at: gap.lower,
                until: gap.upper == resource.total ? nil : gap.upper,
                resumesUnverified: settings.resumesUnverified || isProvable || isVouchedFor || isUnproved,
                isPlain: asksPlain,
                joinTerms(resource)
            )
            // The answer to a request for the whole would replace what another program has begun.
            if isUnproved, question.goesOn, !question.sendsRange { question.overlap -= 1 }
        }
        question.source = sources.home
        question.link = link.number
        if let first = compare(before: &question) { return first }
        countAtOpen = persisted.count
        transfer.firstAsked = now
        state = .connecting(id, question)
        return [.open(id, question), .report]
    }

    /// Whether a part of the file may be asked for. The answer to a POST may be made for it: only a strong tag shows that the bytes
    /// belong together.
    private func mayResume(_ resource: Resource) -> Bool {
        settings.method == .get || sources.home != 0
            || resource.validator.strongTag != nil && joinTerms(resource).source == .sameURL
    }

    /// What decides whether the next answer may be joined to what is on disk.
    private func joinTerms(_ resource: Resource) -> JoinTerms {
        // Nobody knows where the bytes of another program came from.
        let isElsewhere =
            !isUnproved && (isFromReplacedSource || resource.mirror != sources.mirror || isFromOtherPlace)
        return JoinTerms(
            source: !isElsewhere ? .sameURL : isVouchedFor ? .vouchedURL : .otherURL,
            // Of wrong pieces only these are fetched again; a wrong digest would come to light after all bytes.
            hasDigest: isProvable && !(isUnproved && settings.pieces == nil),
            mayBeUnnamed: settings.resumesUnverified || isUnproved || isVouchedFor && resource.validator.isEmpty
        )
    }

    /// What is on disk is another program's, and has not been compared with a server's yet.
    var isUnproved: Bool { resource?.isUnproved == true }

    /// The end of a file of which another program says that it is complete.
    private func endToCompare(_ resource: Resource) -> (lower: Int64, upper: Int64?)? {
        isUnproved ? resource.total.map { ($0, nil) } : nil
    }

    /// The application says that what is asked now is the file that is here in part.
    private var isVouchedFor: Bool { link.isVouchedFor && sources.home == 0 && resource?.mirror == nil }

    /// What is here came from another place than the link leads to now.
    var isFromOtherPlace: Bool {
        guard let resource, resource.mirror == nil, let place = resource.place else { return false }
        return !place.isSamePlace(as: settings.url)
    }

    /// A digest will show whether the result is right, wherever its bytes came from: one that the user gave, or one of the
    /// first server's own that cannot be forged. A mirror's word on its own file proves nothing about another's.
    var isProvable: Bool {
        if settings.checksum != nil || pieces(for: resource?.total) != nil { return true }
        guard let resource, resource.isDigestOfMirror != true, let digest = resource.digest else { return false }
        return digest.algorithm.isCollisionResistant
    }

    var isWhole: Bool {
        guard let total = resource?.total, hasExpectedSize, !isUnproved else { return false }
        return total > 0 && persisted.prefix >= total
    }

    /// False when what is known of the file has another length than it was to have.
    var hasExpectedSize: Bool {
        guard let size = settings.size, let total = resource?.total else { return true }
        return size == total
    }

    /// What is to be done before `question` may be asked; nil when that can be now. Marks the question as compared once all
    /// blocks agree.
    mutating func compare(before question: inout RangeRequest) -> [Action]? {
        guard question.sendsRange, question.needsComparison || comparison.isWanted else { return nil }
        comparison.aim(at: sources.url)
        guard let left = comparison.left else {
            let (id, plan) = comparison.plan(persisted, besides: question.first..<question.offset)
            state = .choosing(id)
            return [.chooseBlocks(id, plan), .report]
        }
        guard let block = left.first else {
            question.isCompared = true
            return nil
        }
        let id = transfer.issueID()
        question = .comparing(block, before: question)
        state = .connecting(id, question)
        return [.open(id, question)]
    }

    /// No request can be made before there is a fresh link.
    mutating func awaitLink(_ reason: SourceQuery.Reason, at now: Instant) -> [Action] {
        guard link.canAsk else { return retry(Self.nobodyToAsk, at: now) }
        let actions = link.ask(reason)
        guard let asked = link.asked else { return actions }
        state = .awaitingURL(asked)
        return actions + [.report]
    }

    private static let nobodyToAsk = RetryClassifier.Decision(
        isWorthRetrying: false,
        error: DownloadError(
            .sourceFailed,
            "This download has no URL yet, and there is no source provider. Set Configuration.sources.provider."
        )
    )

    // MARK: After a failure

    func transportVerdict(_ error: TransportError) -> RetryClassifier.Decision {
        RetryClassifier.decision(on: error, host: sources.url.host ?? "")
    }

    mutating func retry(_ decision: RetryClassifier.Decision, retryAfter: Duration? = nil, at now: Instant)
        -> [Action]
    {
        // The fault of this computer: not counted, and no other source would help.
        if decision.error.code == .tooManyOpenFiles { return rest(Self.waitForFiles, because: decision.error, at: now) }
        // Another source of the same file, before any waiting.
        if sources.moveOn(droppingHome: !decision.isWorthRetrying) { return open(at: now) }
        guard decision.isWorthRetrying else { return fail(decision.error) }
        if resource != nil || decision.error.code == .refusedByServer { patience.noteAnswer() }
        let wait = patience.waitAfterFailure(
            settings.retry,
            retryAfter: retryAfter,
            isMalformed: decision.error.code == .malformedResponse
        )
        guard let wait else { return fail(decision.error) }
        return rest(wait, because: decision.error, at: now)
    }

    mutating func rest(_ wait: Duration, because error: DownloadError, at now: Instant) -> [Action] {
        timers += 1
        comparison.noteRest()
        state = .backingOff(until: now + wait, because: error)
        return [.startTimer(TimerID(number: timers), after: wait), .report]
    }

    static let waitForFiles = Duration.seconds(1)

    // MARK: After a change

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

    /// Whether going by this answer would throw away what only another source can give back, if any: a mirror's word that
    /// the file is another one counts for nothing without a proof, and a file of another program is not emptied. The partial
    /// file of a repair is a copy: an answer with the whole file may take its place.
    func dropsMore(_ answer: RangeResponse, to question: RangeRequest? = nil) -> Bool {
        guard let resource, persisted.count > 0, isUsersFile || !dropsWhatIsThere else { return false }
        // The URL that the user named speaks for itself.
        let isForeign = sources.mirror != nil && resource.mirror != sources.mirror && !isProvable
        guard isUsersFile || isForeign else { return false }
        switch answer {
        case .restart, .startOver: return true
        case .accept: return question?.goesOn == false
        case .alreadyComplete, .askWithoutCondition, .compareFirst, .refuse: return false
        }
    }

    /// Whether the partial file is the unfinished file of another program.
    private var isUsersFile: Bool { settings.isRepair && settings.adopts != nil }

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
}
