internal import Foundation

/// The next attempt: chooses its request, link and wait, and ends the run when no attempt is left.
extension DownloadMachine {
    // MARK: Requests

    package mutating func open(at now: Instant) -> [Action] {
        if sources.home == 0, let reason = link.need(at: now) { return awaitLink(reason, at: now) }
        let id = transfer.issueID()
        var question = RangeRequest.whole
        if let resource, persisted.count > 0, !joining.dropsBytes, hasExpectedSize,
            mayResume(resource),
            let gap = gapOfReader(resource) ?? persisted.written.firstGap(before: resource.total)
                ?? endToCompare(resource)
        {
            question = .resuming(
                resource,
                at: gap.lower,
                until: gap.upper == resource.total ? nil : gap.upper,
                resumesUnverified: settings.resumesUnverified || isProvable || isVouchedFor || isUnproved,
                isPlain: joining.asksPlain,
                joinTerms(resource)
            )
            // Begins at byte 1 instead of byte 0, so that the request carries a Range header. The answer to a request
            // for the whole file would replace the bytes of the other program.
            if isUnproved, question.goesOn, !question.sendsRange { question.overlap -= 1 }
        }
        question.source = sources.home
        question.link = link.number
        if let first = compare(before: &question) { return first }
        joining.noteRequest(at: persisted.count)
        transfer.answers.noteFirstRequest(at: now)
        state = .connecting(id, question)
        return [.open(id, question), .report]
    }

    /// Returns the gap in which the newest reader waits; `nil` if a first request cannot begin there.
    private func gapOfReader(_ resource: Resource) -> (lower: Int64, upper: Int64?)? {
        guard let position = transfer.readers.positions.first, let total = resource.total,
            transfer.readers.letRequestsBeginAnywhere(in: resource), resource.advisesAgainstRanges != true,
            !joining.asksPlain,
            joinTerms(resource).source == .sameURL
        else { return nil }
        let written = persisted.written
        let wanted = written.end(from: max(position, 0))
        guard wanted < total else { return nil }
        let before = written.ranges.last { $0.upperBound <= wanted }?.upperBound ?? 0
        let start = wanted - wanted % max(1, pieces(for: total)?.pieceLength ?? 1)
        return (max(before, start), written.ranges.first { $0.lowerBound > wanted }?.lowerBound ?? total)
    }

    /// Whether a part of the file may be requested. A server may generate a new answer for each POST, so only a strong
    /// entity tag shows that the parts belong together.
    private func mayResume(_ resource: Resource) -> Bool {
        settings.method == .get || sources.home != 0
            || resource.validator.strongTag != nil && joinTerms(resource).source == .sameURL
    }

    /// Returns the conditions under which the next answer may be joined to the bytes on the disk.
    private func joinTerms(_ resource: Resource) -> JoinTerms {
        // The reader of a stream compares the segments of two sources itself: see `logSource`.
        let isElsewhere = isFromElsewhere(resource) && !isStreamLog
        return JoinTerms(
            source: !isElsewhere ? .sameURL : isVouchedFor ? .vouchedURL : .otherURL,
            // For another program's bytes only the digests of pieces count, because with them only wrong pieces are
            // fetched again. A digest of the whole file reveals wrong bytes only at the end.
            hasDigest: isProvable && !(isUnproved && settings.pieces == nil),
            mayBeUnnamed: settings.resumesUnverified || isUnproved || isVouchedFor && resource.validator.isEmpty
        )
    }

    /// Whether the bytes on the disk came from another source than the one that is asked now. `false` for the bytes of
    /// another program, because their source is unknown.
    private func isFromElsewhere(_ resource: Resource) -> Bool {
        !isUnproved && (joining.isFromReplacedSource || resource.mirror != sources.mirror || isFromOtherPlace)
    }

    /// The current source relative to the source of the log, for the reader of a stream.
    package var logSource: LogSource {
        guard let resource, isStreamLog, isFromElsewhere(resource) else { return .same }
        // With a digest of the whole film, a mirror may replace the log too, because the digest reveals wrong bytes.
        return sources.mirror == nil || isProvable ? .other : .mirror
    }

    /// Whether the bytes on the disk come from another program and have not been compared with the server's bytes yet.
    var isUnproved: Bool { resource?.isUnproved == true }

    /// Returns the end of a file that another program has marked as complete, so that a request compares the last
    /// bytes; `nil` for any other file.
    private func endToCompare(_ resource: Resource) -> (lower: Int64, upper: Int64?)? {
        isUnproved ? resource.total.map { ($0, nil) } : nil
    }

    /// Whether the application guarantees that the current URL leads to the file that is partly on the disk.
    private var isVouchedFor: Bool { link.isVouchedFor && sources.home == 0 && resource?.mirror == nil }

    /// Whether the bytes on the disk came from the download's own URL when it had another origin or path than now.
    var isFromOtherPlace: Bool {
        guard let resource, resource.mirror == nil, let place = resource.place else { return false }
        return !place.isSamePlace(as: settings.url)
    }

    /// Whether a digest will prove the result, whatever source the bytes come from. The digest is the user's, or a
    /// collision-resistant one of the first server. A mirror's digest of its own file proves nothing about bytes of
    /// another source.
    var isProvable: Bool {
        if settings.checksum != nil || pieces(for: resource?.total) != nil { return true }
        guard let resource, resource.isDigestOfMirror != true, let digest = resource.digest else { return false }
        return digest.algorithm.isCollisionResistant
    }

    package var isWhole: Bool {
        guard let total = resource?.total, hasExpectedSize, !isUnproved else { return false }
        return total > 0 && persisted.prefix >= total
    }

    /// Whether the length of the file equals the size that the request expects; `true` if either is unknown.
    var hasExpectedSize: Bool {
        guard let size = settings.size, let total = resource?.total else { return true }
        return size == total
    }

    /// Returns the actions that compare blocks of the file with the source before `question` is sent; `nil` if
    /// `question` can be sent now. Marks `question` as compared once all blocks agree.
    package mutating func compare(before question: inout RangeRequest) -> [Action]? {
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

    /// Asks the application for a fresh link before the next request.
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

    package mutating func retry(_ decision: RetryClassifier.Decision, retryAfter: Duration? = nil, at now: Instant)
        -> [Action]
    {
        // Too many open files are a fault of this computer. The failure is not counted, and no other source would help.
        if decision.error.code == .tooManyOpenFiles { return rest(Self.waitForFiles, because: decision.error, at: now) }
        // Tries another source of the same file before any wait.
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

    package mutating func rest(_ wait: Duration, because error: DownloadError, at now: Instant) -> [Action] {
        let timer = restTimer.startNext()
        comparison.noteRest()
        state = .backingOff(until: now + wait, because: error)
        return [.startTimer(timer, after: wait), .report]
    }

    static let waitForFiles = Duration.seconds(1)

    // MARK: After a change

    package mutating func startOver(_ reason: RangeResponse.StartOver, at now: Instant) -> [Action] {
        if dropsMore(.startOver(reason)) { return retry(otherFile, at: now) }
        if reason == .changed, let error = noteChange() { return fail(error) }
        if reason == .noUsableRange { joining.noteBrokenRanges() }
        comparison.finish(at: nil)
        // The bytes on the disk stay until a new answer replaces them.
        if reason == .changed { joining.expectOtherVersion() } else { joining.dropBytes() }
        return open(at: now)
    }

    /// Counts a change of the file at the server. Returns an error if the request forbids changes or the file changed
    /// too often.
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

    /// Whether following `answer` would drop bytes that must be kept. A mirror's statement that the file is another one
    /// does not count without a proof. The unfinished file of another program is never emptied.
    ///
    /// Any other repair works on a copy, so an answer with the whole file may replace its partial file.
    func dropsMore(_ answer: RangeResponse, to question: RangeRequest? = nil) -> Bool {
        guard let resource, persisted.count > 0, isUsersFile || !joining.dropsBytes else { return false }
        // Only a mirror needs a proof. The statement of the user's URL always counts.
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

    /// Decision for a source that has another file. The source is not used again if there is another source.
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
