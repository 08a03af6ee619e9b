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
    /// Attempts in a row that brought no byte.
    private(set) var failures = 0
    /// Set when the bytes came from another URL than the one now asked.
    private(set) var isFromReplacedSource: Bool

    private enum Wish: Sendable, Equatable { case run, pause, cancel }
    /// What the user asked for during a step that must not be torn.
    private var wish = Wish.run
    /// What was written when the present attempt began.
    private var markAtOpen: Int64 = 0
    /// The farthest byte of this run. Only new ground counts as progress, so that a server without ranges that breaks off
    /// again and again at the same place does not keep us for ever.
    private var furthest: Int64 = 0
    private var rangesAreBroken = false
    private var changes = 0
    private var hasRefetched = false
    private var renewals = 0
    /// The server has sent some answer, if only a refusal: its name and address are right.
    private var hasBeenAnswered = false
    private var asksPlain = false
    private var dropsWhatIsThere = false
    private var connections = 0
    private var timers = 0
    private var random: SplitMix64

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
        self.random = SplitMix64(seed: seed)
    }

    /// Versions of the file that may come by in one run before we say that it keeps changing.
    static let mostChanges = 3
    /// Times that a refusal behind a redirect is taken for an expired link.
    static let mostRenewals = 2

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

    private mutating func resume() -> [Action] {
        switch state {
        case .paused, .failed:
            state = .queued
            failures = 0
            changes = 0
            renewals = 0
            hasRefetched = false
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
            state = .preparing(id, preparation, ended: .failed(TransportError(.connectionLost), mark))
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
        furthest = mark.written
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
                renewals += 1
                if renewals > Self.mostRenewals { verdict = .init(isWorthRetrying: false, error: verdict.error) }
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
        renewals = 0
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
        case .finished: .failed(TransportError(.connectionLost, "the body ended before it was let in"), mark)
        case .failed(let error, _): .failed(error, mark)
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
        changes += 1
        // Every byte of the new version is new ground.
        furthest = 0
        if settings.failsOnChange {
            return DownloadError(
                .contentChanged,
                "Another version of the file stands at the URL. What arrived of the old one is kept."
            )
        }
        guard changes > Self.mostChanges else { return nil }
        return DownloadError(
            .contentChanged,
            "The file keeps changing at the server: \(changes) versions came by. Try again later."
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
        if landed.written > furthest {
            furthest = landed.written
            failures = 0
        }
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
            take(landed)
            if let total = resource?.total, landed.written == total { return verify() }
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
        failures += 1
        if resource != nil || verdict.error.code == .refusedByServer { hasBeenAnswered = true }
        let policy = settings.retry
        let most = hasBeenAnswered ? policy.attempts : min(policy.attempts, policy.attemptsBeforeFirstAnswer)
        guard failures <= most else { return fail(verdict.error) }
        let wait = policy.delay(failures: failures, chance: random.next(), retryAfter: retryAfter)
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
            if !hasRefetched {
                hasRefetched = true
                dropsWhatIsThere = true
                furthest = 0
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
