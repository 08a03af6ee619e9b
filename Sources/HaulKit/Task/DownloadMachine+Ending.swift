internal import Foundation
internal import NIOHTTP1

/// How it ends: another attempt, a failure, or the digest and the final name.
extension DownloadMachine {
    // MARK: Failing

    func transportVerdict(_ error: TransportError) -> RetryClassifier.Decision {
        RetryClassifier.decision(on: error, host: sources.url.host ?? "")
    }

    mutating func retry(_ decision: RetryClassifier.Decision, retryAfter: Duration? = nil, at now: Instant)
        -> [Action]
    {
        // Nobody's fault but this machine's: not counted, and no other source would help.
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

    private mutating func rest(_ wait: Duration, because error: DownloadError, at now: Instant) -> [Action] {
        timers += 1
        comparison.noteRest()
        state = .backingOff(until: now + wait, because: error)
        return [.startTimer(TimerID(number: timers), after: wait), .report]
    }

    /// A step found that too many files are open: others will be closed, and then it is tried from the beginning.
    mutating func waitForFiles(_ error: DownloadError, at now: Instant) -> [Action] {
        var closing: [Action] = []
        switch state {
        case .inspectingDisk, .publishing, .verifying: break
        case .preparing(let id, _, let ended): closing = ended == nil ? [.close(id)] : []
        case .transferring: closing = transfer.closeAll()
        default: return []
        }
        return closing
            + settleOr { machine in
                machine.recoversAfterRest = true
                return machine.link.stopAsking() + [.checkpoint, .releaseFile]
                    + machine.rest(Self.waitForFiles, because: error, at: now)
            }
    }

    private static let waitForFiles = Duration.seconds(1)

    /// Begins with what is on the disk.
    mutating func recover() -> [Action] {
        recoversAfterRest = false
        state = .inspectingDisk
        return [.recover, .report]
    }

    mutating func fail(_ error: DownloadError) -> [Action] {
        if error.code == .diskFull, settings.waitsForSpace { return settle(.hold(.diskFull)) }
        return giveUp(error)
    }

    mutating func giveUp(_ error: DownloadError) -> [Action] {
        state = .failed(error)
        return link.stopAsking() + [.checkpoint, .releaseFile, .report]
    }

    // MARK: The end

    /// Every byte is here: where the digests of pieces are known, those that were not compared yet come first.
    ///
    /// - Parameter fresh: what the connection brought that has just ended, where it was not planned for.
    mutating func finish(at now: Instant, bringing fresh: Range<Int64> = 0..<0) -> [Action] {
        guard pieces(for: resource?.total) != nil else {
            guard settings.pieces == nil else {
                // Now it is clear that what is here is not the file.
                dropsWhatIsThere = true
                if patience.refetches() || sources.moveOn(droppingHome: true) {
                    return transfer.closeAll() + open(at: now)
                }
                let refusal = RangeResponse.Refusal.otherPieces(actual: resource?.total ?? 0)
                let host = sources.url.host ?? ""
                return transfer.closeAll()
                    + fail(RetryClassifier.decision(on: refusal, host: host, isRedirected: false).error)
            }
            return verify()
        }
        let closing = transfer.closeAll()
        let isNews = state != .transferring
        state = .transferring
        begin(nil, at: now)
        transfer.noteUnplanned(fresh, from: sources.home)
        let (actions, outcome) = transfer.advance(persisted, &sources, at: now)
        guard outcome == .goesOn else { return closing + actions + follow(outcome, at: now) }
        return closing + actions + (isNews ? [.report] : [])
    }

    mutating func verify() -> [Action] {
        state = .verifying
        return link.stopAsking() + transfer.closeAll() + [.verify(settings.checksum ?? resource?.digest), .report]
    }

    mutating func verified(_ decision: Decision, at now: Instant) -> [Action] {
        guard state == .verifying else { return [] }
        switch decision {
        case .right, .unchecked:
            state = .publishing
            return [.publish]
        case .mismatch(let expected, let actual):
            if !settings.isRepair, sources.discardPrimary() || patience.refetches() {
                dropsWhatIsThere = true
                return open(at: now)
            }
            let error = DownloadError(
                .checksumMismatch,
                "The file has the wrong digest, twice: expected \(expected), got \(actual). It was not put under its name."
            )
            state = .failed(error)
            persisted = .zero
            transfer.forgetPieces()
            resource = nil
            return [.setAside, .releaseFile, .report]
        }
    }
}
