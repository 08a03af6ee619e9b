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
    /// What was written when the present attempt began.
    private var markAtOpen: Int64 = 0
    private var rangesAreBroken = false
    private var asksPlain = false
    private var dropsWhatIsThere = false
    private var connections = 0
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
        case .bytesLanded(let mark): return bytesLanded(mark)
        case .connectionEnded(let id, let end): return connectionEnded(id, end, at: now)
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
            default: return []
            }
        }
    }

    // MARK: What the user wants

    /// Changes what the download is to be, between two runs of it; while it runs nothing changes.
    mutating func retarget(_ settings: Settings, isFromReplacedSource: Bool) {
        switch state {
        case .queued, .paused, .failed:
            self.settings = settings
            if isFromReplacedSource { self.isFromReplacedSource = true }
        default: break
        }
    }

    /// Takes over what the store says of the representation, while what is on disk is being looked at.
    mutating func learn(_ resource: Resource?) {
        if state == .recovering { self.resource = resource }
    }

    private mutating func resume() -> [Action] {
        switch state {
        case .paused, .failed:
            state = .queued
            patience.renew()
            return [.report]
        default:
            if wish == .pause { wish = .run }
            return []
        }
    }

    private mutating func stop(_ wish: Wish) -> [Action] {
        switch state {
        case .queued: return settle(wish)
        case .connecting(let id, _), .transferring(let id): return [.close(id)] + settle(wish)
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
        patience.begin(at: mark.written)
        if found == nil { resource = nil }
        return settleOr { machine in
            if let total = machine.resource?.total, total == machine.mark.written, machine.mark.written > 0 {
                return machine.verify()
            }
            return machine.open(at: now)
        }
    }

    // MARK: Asking

    private mutating func open(at now: Instant) -> [Action] {
        connections += 1
        let id = ConnectionID(number: connections)
        var question = RangeQuestion.whole
        if let resource, mark.written > 0, !dropsWhatIsThere {
            question = .resuming(
                resource,
                at: mark.written,
                resumesUnverified: settings.resumesUnverified || settings.checksum != nil,
                isPlain: asksPlain,
                isFromReplacedSource: isFromReplacedSource
            )
        }
        markAtOpen = mark.written
        state = .connecting(id, question)
        return [.open(id, question), .report]
    }

    private mutating func headReceived(
        _ id: ConnectionID,
        _ head: ResponseHead,
        retryAfter: Duration?,
        at now: Instant
    ) -> [Action] {
        guard case .connecting(id, let question) = state else { return [] }
        switch RangeAnswer.judge(head, to: question, after: mark.written > 0 ? resource : nil) {
        case .accept(let resource, let offset, let compare):
            return prepare(id, head, resource, offset: offset, compare: compare)
        case .restart(let resource, let reason):
            if reason == .changed, let error = noteChange() { return [.close(id)] + fail(error) }
            return prepare(id, head, resource, offset: 0, compare: 0)
        case .alreadyComplete(let known):
            resource = known
            return [.close(id)] + verify()
        case .askWithoutCondition:
            asksPlain = true
            return [.close(id)] + open(at: now)
        case .startOver(let reason):
            return [.close(id)] + startOver(reason, at: now)
        case .refuse(let refusal):
            var verdict = FailureTable.verdict(
                on: refusal,
                host: settings.url.host ?? "",
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
        compare: Int64
    ) -> [Action] {
        let preparation = Preparation(
            resource: resource,
            offset: offset,
            compare: compare,
            end: offset > 0 ? head.contentRange?.end : nil,
            contentDisposition: head.headers.first(name: "Content-Disposition"),
            nameSources: [head.url, head.requested]
        )
        state = .preparing(id, preparation, ended: nil)
        return [.prepare(id, preparation)]
    }

    private mutating func prepared(_ id: ConnectionID, at now: Instant) -> [Action] {
        guard case .preparing(id, let preparation, let ended) = state else { return [] }
        resource = preparation.resource
        if rangesAreBroken { resource?.hasUsableRanges = false }
        if preparation.startsOver { mark = .zero }
        markAtOpen = mark.written
        dropsWhatIsThere = false
        asksPlain = false
        isFromReplacedSource = false
        patience.noteGoodAnswer()
        return settleOr { machine in
            machine.state = .transferring(id)
            if let ended { return machine.connectionEnded(id, machine.withoutBody(ended), at: now) }
            let limit = (preparation.end ?? preparation.resource.total).map { $0 - preparation.offset }
            return [.admit(id, at: preparation.offset, compare: preparation.compare, limit: limit), .report]
        }
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
                Mark(written: min(left.written, mark.written), synced: min(left.synced, mark.synced))
            )
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

    private mutating func bytesLanded(_ landed: Mark) -> [Action] {
        switch state {
        case .transferring:
            take(landed)
            return []
        case .paused, .failed, .queued, .recovering:
            // The last bytes of a connection that was closed may land after it, and a sync that failed may take some
            // back, even when the user has resumed already: the file is looked at only after that.
            if resource != nil { take(landed) }
            return []
        default: return []
        }
    }

    private mutating func take(_ landed: Mark) {
        patience.noteProgress(to: landed.written)
        mark = landed
    }

    private mutating func connectionEnded(_ id: ConnectionID, _ end: ConnectionEnd, at now: Instant) -> [Action] {
        switch state {
        case .connecting(id, _):
            switch end {
            case .failed(let error, _): return retry(transportVerdict(error), at: now)
            case .diskFailed(let error, let landed):
                mark = landed
                return fail(DownloadError(error))
            // A body cannot end before its head was judged.
            case .finished, .overlapDiffers:
                return retry(transportVerdict(TransportError(.malformedResponse, "a body without a head")), at: now)
            }
        case .preparing(id, let preparation, nil):
            state = .preparing(id, preparation, ended: end)
            return []
        case .transferring(id):
            return transferEnded(end, at: now)
        default: return []
        }
    }

    private mutating func transferEnded(_ end: ConnectionEnd, at now: Instant) -> [Action] {
        switch end {
        case .finished(let landed):
            take(landed)
            guard let total = resource?.total else {
                // A range of an unknown whole may end before the whole does (RFC 9110 §15.3.7): only when nothing more
                // comes is that its end.
                if markAtOpen > 0, landed.written > markAtOpen { return open(at: now) }
                resource?.total = landed.written
                return verify()
            }
            if landed.written == total { return verify() }
            // The server sent less than was asked, which it may (RFC 9110 §15.3.7): ask for the rest at once.
            if landed.written > markAtOpen { return open(at: now) }
            return retry(transportVerdict(TransportError(.connectionLost, "the body ended early")), at: now)
        case .failed(let error, let landed):
            if let landed { take(landed) }
            if let total = resource?.total, mark.written == total { return verify() }
            return retry(transportVerdict(error), at: now)
        case .overlapDiffers:
            return startOver(.changed, at: now)
        case .diskFailed(let error, let landed):
            mark = landed
            return fail(DownloadError(error))
        }
    }

    // MARK: Failing

    private func transportVerdict(_ error: TransportError) -> FailureTable.Verdict {
        FailureTable.verdict(on: error, host: settings.url.host ?? "")
    }

    private mutating func retry(_ verdict: FailureTable.Verdict, retryAfter: Duration? = nil, at now: Instant)
        -> [Action]
    {
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

    private mutating func verify() -> [Action] {
        state = .verifying
        return [.verify(settings.checksum ?? resource?.digest), .report]
    }

    private mutating func verified(_ verdict: Verdict, at now: Instant) -> [Action] {
        guard state == .verifying else { return [] }
        switch verdict {
        case .right, .unchecked:
            state = .publishing
            return [.publish]
        case .mismatch(let expected, let actual):
            if patience.refetches() {
                dropsWhatIsThere = true
                return open(at: now)
            }
            let error = DownloadError(
                .checksumMismatch,
                "The file has the wrong digest, twice: expected \(expected), got \(actual). It was not put under its name."
            )
            state = .failed(error)
            mark = .zero
            resource = nil
            return [.setAside, .releaseFile, .report]
        }
    }
}
