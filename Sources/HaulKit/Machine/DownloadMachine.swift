internal import Foundation
internal import NIOHTTP1

/// The life of one download as a value: every decision, no effect.
///
/// `handle` takes what happened and returns what is to be done. It has no clock, no random source but its own seed, no
/// tasks; so a life can be logged, replayed, fuzzed and compared. An event that comes too late changes nothing and
/// returns no action: the network's timing can never trap the process. The table of states is in docs/design.md.
struct DownloadMachine: Sendable, Equatable {
    private(set) var settings: Settings
    private(set) var state: State
    /// What is known of the representation; nil before the first answer and after everything was dropped.
    private(set) var resource: Resource?
    private(set) var mark: Mark
    private(set) var patience: Patience
    /// Set when the bytes came from another URL than the one now asked.
    private(set) var isFromReplacedSource: Bool

    private enum Wish: Sendable, Equatable { case run, pause, cancel }
    /// What the user asked for during a step that must not be torn.
    private var wish = Wish.run
    /// Bytes that were here when the present attempt began.
    private var countAtOpen: Int64 = 0
    private var rangesAreBroken = false
    private var asksPlain = false
    private var dropsWhatIsThere = false
    private(set) var sources: SourceBook
    private(set) var transfer = Transfer()
    /// Connections that the host was seen to allow.
    private var knownLimit: Int?
    private var timers = 0

    /// - Parameters:
    ///   - resource: what an earlier run learned.
    ///   - mark: how far an earlier run came; the file is looked at before it counts.
    init(
        _ settings: Settings,
        state: State = .queued,
        resource: Resource? = nil,
        mark: Mark = .zero,
        seed: UInt64,
        isFromReplacedSource: Bool = false
    ) {
        self.settings = settings
        self.state = state
        self.resource = resource
        self.mark = mark
        self.isFromReplacedSource = isFromReplacedSource
        self.patience = Patience(seed: seed)
        sources = SourceBook(settings.url, mirrors: settings.mirrors)
    }

    mutating func handle(_ event: Event, at now: Instant) -> [Action] {
        switch event {
        case .pauseRequested: return stop(.pause)
        case .resumeRequested: return resume()
        case .cancelRequested: return stop(.cancel)
        case .slotGranted:
            guard state == .queued else { return [] }
            state = .recovering
            return [.recover, .report]
        case .recovered(let found): return recovered(found, at: now)
        case .headReceived(let id, let head, let retryAfter):
            return headReceived(id, head, retryAfter: retryAfter, at: now)
        case .prepared(let id): return prepared(id, at: now)
        case .bytesLanded(let mark): return bytesLanded(mark, at: now)
        case .connectionEnded(let id, let end): return connectionEnded(id, end, at: now)
        case .pieceChecked(let index, let isRight):
            guard state == .transferring else { return [] }
            let (actions, outcome) = transfer.checked(index, isRight: isRight, &sources, at: now)
            for case .forget(let range) in actions { forget(range) }
            // What proved wrong is asked for again at once; the transfer counts how often.
            return actions + (outcome == .dry ? open(at: now) : follow(outcome, at: now))
        case .connectionWanted(let hosts):
            guard state == .transferring else { return [] }
            let urls = sources.sources.map { Origin($0.url) }
            return transfer.yield(from: { hosts.contains(urls[$0]) }, &sources, at: now)
        case .timerFired(let id):
            guard case .resting = state, id.number == timers else { return [] }
            return open(at: now)
        case .verified(let verdict): return verified(verdict, at: now)
        case .published(let path):
            guard state == .publishing else { return [] }
            wish = .run
            state = .completed(path: path)
            return [.releaseFile, .report]
        case .skipped(let path):
            let closing: [Action]
            switch state {
            case .recovering: closing = []
            case .preparing(let id, _, let ended): closing = ended == nil ? [.close(id)] : []
            default: return []
            }
            wish = .run
            state = .completed(path: path)
            return closing + [.releaseFile, .report]
        case .stepFailed(let error):
            switch state {
            case .recovering, .publishing, .verifying: return settleOr { $0.fail(error) }
            case .preparing(let id, _, let ended):
                return (ended == nil ? [.close(id)] : []) + settleOr { $0.fail(error) }
            case .transferring: return transfer.closeAll() + fail(error)
            default: return []
            }
        }
    }

    /// What each connection does that brings bytes.
    func connections(at now: Instant) -> [DownloadSnapshot.Connection] {
        transfer.lines.sorted { $0.key.number < $1.key.number }.map { id, line in
            let owed = transfer.plan?.segments[id]?.owed ?? mark.prefix..<mark.prefix
            return .init(
                host: sources.sources[line.source].url.host ?? "",
                owed: owed,
                bytesPerSecond: line.bytesPerSecond(at: now)
            )
        }
    }

    // MARK: What the user wants

    /// Changes what the download is to be, between two runs of it; while it runs nothing changes.
    mutating func retarget(_ settings: Settings, isFromReplacedSource: Bool) {
        switch state {
        case .queued, .paused, .failed:
            self.settings = settings
            sources = SourceBook(settings.url, mirrors: settings.mirrors)
            if isFromReplacedSource { self.isFromReplacedSource = true }
        default: break
        }
    }

    /// Takes over what the store says of the representation, while what is on disk is being looked at.
    mutating func learn(_ resource: Resource?) {
        if state == .recovering { self.resource = resource }
    }

    /// Whether a speed limit holds: how fast the connections are then says nothing about them.
    mutating func note(isHeldBack: Bool) { transfer.isHeldBack = isHeldBack }

    /// Connections that the host was seen to allow, by other downloads.
    mutating func learn(knownLimit: Int?) { self.knownLimit = knownLimit }

    private mutating func resume() -> [Action] {
        switch state {
        case .paused, .failed:
            state = .queued
            patience.renew()
            sources.renew()
            return [.report]
        default:
            if wish == .pause { wish = .run }
            return []
        }
    }

    private mutating func stop(_ wish: Wish) -> [Action] {
        switch state {
        case .queued: return settle(wish)
        case .connecting(let id, _): return [.close(id)] + settle(wish)
        case .transferring: return transfer.closeAll() + settle(wish)
        case .resting: return [.cancelTimer(TimerID(number: timers))] + settle(wish)
        case .verifying: return [.cancelVerification] + settle(wish)
        case .paused, .failed: return wish == .cancel ? settle(wish) : []
        case .recovering, .publishing:
            // Short steps that must not be torn: the wish is kept until they are done, and a file that is being
            // published is as good as complete.
            keep(wish)
            return []
        case .preparing(let id, let preparation, let ended):
            keep(wish)
            guard ended == nil else { return [] }
            state = .preparing(id, preparation, ended: .failed(TransportError(.connectionLost), nil))
            return [.close(id)]
        case .completed, .cancelled: return []
        }
    }

    /// A cancelled download stays cancelled, even if the whole downloader is told to pause before the step is done.
    private mutating func keep(_ wish: Wish) {
        if self.wish != .cancel { self.wish = wish }
    }

    /// Comes to rest as the user wished; runs on if that is the wish.
    private mutating func settle(_ wish: Wish) -> [Action] {
        self.wish = .run
        switch wish {
        case .run: return []
        case .pause:
            state = .paused
            return [.checkpoint, .releaseFile, .report]
        case .cancel:
            state = .cancelled
            return [.discardPartial, .releaseFile, .report]
        }
    }

    /// Ends a short step: what the user asked for meanwhile comes first.
    private mutating func settleOr(_ next: (inout DownloadMachine) -> [Action]) -> [Action] {
        wish == .run ? next(&self) : settle(wish)
    }

    // MARK: Looking at the disk

    private mutating func recovered(_ found: Mark?, at now: Instant) -> [Action] {
        guard state == .recovering else { return [] }
        mark = found ?? .zero
        patience.begin(at: mark.count)
        transfer.forgetPieces()
        if found == nil { resource = nil }
        return settleOr { machine in machine.isWhole ? machine.finish(at: now) : machine.open(at: now) }
    }

    // MARK: Asking

    private var isWhole: Bool {
        guard let total = resource?.total, hasExpectedSize else { return false }
        return total > 0 && mark.prefix >= total
    }

    /// False when what is known of the file has another length than it was to have.
    private var hasExpectedSize: Bool {
        guard let size = settings.size, let total = resource?.total else { return true }
        return size == total
    }

    private mutating func open(at now: Instant) -> [Action] {
        let id = transfer.issueID()
        var question = RangeQuestion.whole
        if let resource, mark.count > 0, !dropsWhatIsThere, hasExpectedSize,
            let gap = mark.written.firstGap(before: resource.total)
        {
            let isFromElsewhere = isFromReplacedSource || resource.mirror != sources.mirror
            question = .resuming(
                resource,
                at: gap.lower,
                until: gap.upper == resource.total ? nil : gap.upper,
                resumesUnverified: settings.resumesUnverified || isProvable,
                isPlain: asksPlain,
                isFromReplacedSource: isFromElsewhere
            )
            question.isProvable = isProvable
        }
        question.source = sources.home
        countAtOpen = mark.count
        state = .connecting(id, question)
        return [.open(id, question), .report]
    }

    /// A digest will show whether the result is right, wherever its bytes came from.
    private var isProvable: Bool {
        settings.checksum != nil || resource?.digest != nil || pieces(for: resource?.total) != nil
    }

    private mutating func headReceived(
        _ id: ConnectionID,
        _ head: ResponseHead,
        retryAfter: Duration?,
        at now: Instant
    ) -> [Action] {
        guard case .connecting(id, let question) = state else {
            guard state == .transferring else { return [] }
            let (actions, outcome) = transfer.answered(id, head, retryAfter: retryAfter, &sources, at: now)
            return actions + follow(outcome, at: now)
        }
        var answer = RangeAnswer.judge(head, to: question, after: mark.count > 0 ? resource : nil)
        if let size = settings.size, let total = answer.resource?.total, total != size {
            answer = .refuse(.otherSize(expected: size, actual: total))
        }
        switch answer {
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
            var verdict = FailureTable.verdict(
                on: refusal,
                host: sources.url.host ?? "",
                isRedirected: head.isRedirected
            )
            if case .status(let status, _) = refusal, (400...410).contains(status), verdict.isWorthRetrying,
                status != 408
            {
                if !patience.renewsLink() { verdict = .init(isWorthRetrying: false, error: verdict.error) }
            }
            return [.close(id)] + retry(verdict, retryAfter: retryAfter, at: now)
        }
    }

    private mutating func prepare(
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
        let preparation = Preparation(
            resource: resource,
            offset: offset,
            startsOver: startsOver,
            compare: compare,
            end: end,
            contentDisposition: head.headers.first(name: "Content-Disposition"),
            nameSources: [head.url, head.requested],
            mirrors: sources.home == 0 ? MirrorLinks(head.headers["Link"], base: head.url).mirrors.map(\.source) : []
        )
        state = .preparing(id, preparation, ended: nil)
        return [.prepare(id, preparation)]
    }

    private mutating func prepared(_ id: ConnectionID, at now: Instant) -> [Action] {
        guard case .preparing(id, let preparation, let ended) = state else { return [] }
        resource = preparation.resource
        if rangesAreBroken { resource?.hasUsableRanges = false }
        if preparation.startsOver {
            mark = .zero
            transfer.startOver()
        }
        countAtOpen = mark.count
        dropsWhatIsThere = false
        asksPlain = false
        isFromReplacedSource = false
        resource?.mirror = sources.mirror
        sources.note(preparation.resource.validator, of: sources.home)
        // What anybody on the way may have changed needs a digest to prove it.
        sources.add(preparation.mirrors, insecureToo: isProvable)
        patience.noteGoodAnswer()
        return settleOr { machine in
            machine.state = .transferring
            machine.begin((id, preparation.offset, preparation.end, preparation.compare), at: now)
            if let ended { return machine.connectionEnded(id, machine.withoutBody(ended), at: now) }
            // A range that ends within the overlap brings nothing.
            let limit = (preparation.end ?? machine.resource?.total).map { max(0, $0 - preparation.offset) }
            let admit = Action.admit(id, at: preparation.offset, compare: preparation.compare, limit: limit)
            let (further, outcome) = machine.transfer.advance(machine.mark, &machine.sources, at: now)
            return [admit] + further + [.report] + machine.follow(outcome, at: now)
        }
    }

    private mutating func begin(_ first: Transfer.First?, at now: Instant) {
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
            mark,
            sources,
            knownLimit: knownLimit,
            at: now
        )
    }

    /// The digests of the pieces, if they are those of a file of this size.
    private func pieces(for total: Int64?) -> PieceHashes? {
        guard let total, let pieces = settings.pieces, pieces.covers(total) else { return nil }
        return pieces
    }

    /// The end of a connection whose body was never let in: what it says of marks is older than what the file was
    /// made ready for. Only a disk that took bytes back is to be believed.
    private func withoutBody(_ end: ConnectionEnd) -> ConnectionEnd {
        switch end {
        case .finished: .failed(TransportError(.connectionLost, "the body ended before it was let in"), nil)
        case .failed(let error, _): .failed(error, nil)
        case .overlapDiffers: end
        case .diskFailed(let error, let left):
            .diskFailed(
                error,
                Mark(
                    written: left.written.intersection(mark.written),
                    synced: left.synced.intersection(mark.synced)
                )
            )
        case .noRoom: end
        }
    }

    private mutating func startOver(_ reason: RangeAnswer.StartOver, at now: Instant) -> [Action] {
        if reason == .changed, let error = noteChange() { return fail(error) }
        if reason == .noUsableRange { rangesAreBroken = true }
        // What is on disk stays until the new answer is there to replace it.
        dropsWhatIsThere = true
        return open(at: now)
    }

    /// Counts a change of the file at the server; returns the error once that is no longer to be followed.
    private mutating func noteChange() -> DownloadError? {
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

    // MARK: Bytes

    private mutating func bytesLanded(_ landed: Mark, at now: Instant) -> [Action] {
        switch state {
        case .transferring:
            take(landed)
            let (actions, outcome) = transfer.advance(mark, &sources, at: now)
            return actions + follow(outcome, at: now)
        case .paused, .failed, .queued, .recovering:
            // The last bytes of a connection that was closed may land after it, and a sync that failed may take some
            // back, even when the user has resumed already: the file is looked at only after that.
            if resource != nil { take(landed) }
            return []
        default: return []
        }
    }

    private mutating func take(_ landed: Mark) {
        patience.noteProgress(to: landed.count)
        mark = landed
    }

    /// The file will say so too, but the next question must not wait for that.
    private mutating func forget(_ range: Range<Int64>) {
        mark.written.remove(contentsOf: range)
        mark.synced.remove(contentsOf: range)
    }

    /// What the state of the transfer means for the download.
    private mutating func follow(_ outcome: Transfer.Outcome, because error: TransportError? = nil, at now: Instant)
        -> [Action]
    {
        switch outcome {
        case .goesOn: return []
        case .complete: return verify()
        case .doubtful:
            // Nothing is thrown away on the word of a further connection: the ladder decides.
            return transfer.closeAll() + open(at: now)
        case .homeless:
            _ = sources.moveOn(droppingHome: true)
            return open(at: now)
        case .dry:
            // The server sent less than was asked, which it may (RFC 9110 §15.3.7): ask for the rest at once.
            if error == nil, mark.count > countAtOpen { return open(at: now) }
            return retry(transportVerdict(error ?? TransportError(.connectionLost, "the body ended early")), at: now)
        case .wrongPiece(let index):
            return fail(
                DownloadError(
                    .checksumMismatch,
                    "Piece \(index + 1) of the file has the wrong digest wherever it comes from. What is right is kept."
                )
            )
        }
    }

    private mutating func connectionEnded(_ id: ConnectionID, _ end: ConnectionEnd, at now: Instant) -> [Action] {
        switch state {
        case .connecting(id, _):
            switch end {
            case .failed(let error, _): return retry(transportVerdict(error), at: now)
            case .diskFailed(let error, let landed):
                mark = landed
                return fail(DownloadError(error))
            // A body cannot end before its head was judged, and the first connection waits for room.
            case .finished, .overlapDiffers, .noRoom:
                return retry(transportVerdict(TransportError(.malformedResponse, "a body without a head")), at: now)
            }
        case .preparing(id, let preparation, nil):
            state = .preparing(id, preparation, ended: end)
            return []
        case .transferring where transfer.lines[id] != nil:
            return transferEnded(id, end, at: now)
        default: return []
        }
    }

    private mutating func transferEnded(_ id: ConnectionID, _ end: ConnectionEnd, at now: Instant) -> [Action] {
        let kind: Transfer.End
        var failure: TransportError?
        switch end {
        case .finished(let landed):
            take(landed)
            kind = .finished
        case .failed(let error, let landed):
            if let landed { take(landed) }
            (kind, failure) = (.failed, error)
        case .noRoom: kind = .noRoom
        case .overlapDiffers:
            return transfer.closeAll().filter { $0 != .close(id) } + startOver(.changed, at: now)
        case .diskFailed(let error, let landed):
            mark = landed
            return transfer.closeAll().filter { $0 != .close(id) } + fail(DownloadError(error))
        }
        if resource?.total == nil, failure == nil {
            // A range of an unknown whole may end before the whole does (RFC 9110 §15.3.7): only when nothing more
            // comes is that its end.
            _ = transfer.closeAll()
            if countAtOpen > 0, mark.count > countAtOpen { return open(at: now) }
            resource?.total = mark.count
            if let size = settings.size, size != mark.count {
                let refusal = RangeAnswer.Refusal.otherSize(expected: size, actual: mark.count)
                return retry(
                    FailureTable.verdict(on: refusal, host: sources.url.host ?? "", isRedirected: false),
                    at: now
                )
            }
            return finish(at: now, bringing: min(countAtOpen, mark.count)..<mark.count)
        }
        let (actions, outcome) = transfer.ended(id, kind, mark, &sources, at: now)
        return actions + follow(outcome, because: failure, at: now)
    }

    // MARK: Failing

    private func transportVerdict(_ error: TransportError) -> FailureTable.Verdict {
        FailureTable.verdict(on: error, host: sources.url.host ?? "")
    }

    private mutating func retry(_ verdict: FailureTable.Verdict, retryAfter: Duration? = nil, at now: Instant)
        -> [Action]
    {
        // Another source of the same file, before any waiting.
        if sources.moveOn(droppingHome: !verdict.isWorthRetrying) { return open(at: now) }
        guard verdict.isWorthRetrying else { return fail(verdict.error) }
        if resource != nil || verdict.error.code == .refusedByServer { patience.noteAnswer() }
        guard let wait = patience.waitAfterFailure(settings.retry, retryAfter: retryAfter) else {
            return fail(verdict.error)
        }
        timers += 1
        state = .resting(until: now + wait, because: verdict.error)
        return [.startTimer(TimerID(number: timers), after: wait), .report]
    }

    private mutating func fail(_ error: DownloadError) -> [Action] {
        state = .failed(error)
        return [.checkpoint, .releaseFile, .report]
    }

    // MARK: The end

    /// Every byte is here: where the digests of pieces are known, those that were not compared yet come first.
    ///
    /// - Parameter fresh: what the connection brought that has just ended, where it was not planned for.
    private mutating func finish(at now: Instant, bringing fresh: Range<Int64> = 0..<0) -> [Action] {
        guard pieces(for: resource?.total) != nil else { return verify() }
        let closing = transfer.closeAll()
        let isNews = state != .transferring
        state = .transferring
        begin(nil, at: now)
        transfer.noteUnplanned(fresh, from: sources.home)
        let (actions, outcome) = transfer.advance(mark, &sources, at: now)
        guard outcome == .goesOn else { return closing + actions + follow(outcome, at: now) }
        return closing + actions + (isNews ? [.report] : [])
    }

    private mutating func verify() -> [Action] {
        state = .verifying
        return transfer.closeAll() + [.verify(settings.checksum ?? resource?.digest), .report]
    }

    private mutating func verified(_ verdict: Verdict, at now: Instant) -> [Action] {
        guard state == .verifying else { return [] }
        switch verdict {
        case .right, .unchecked:
            state = .publishing
            return [.publish]
        case .mismatch(let expected, let actual):
            if sources.distrust() || patience.refetches() {
                dropsWhatIsThere = true
                return open(at: now)
            }
            let error = DownloadError(
                .checksumMismatch,
                "The file has the wrong digest, twice: expected \(expected), got \(actual). It was not put under its name."
            )
            state = .failed(error)
            mark = .zero
            transfer.forgetPieces()
            resource = nil
            return [.setAside, .releaseFile, .report]
        }
    }
}
