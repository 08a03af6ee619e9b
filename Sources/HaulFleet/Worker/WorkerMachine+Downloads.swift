internal import HaulKit

extension WorkerMachine {
    mutating func downloadEnded(_ key: LeaseKey, _ ending: DownloadEnding) {
        guard let item = items[key], item.stage == .downloading else { return }
        pace.noteEnd(at: now)
        switch ending {
        case .staged(let file):
            claims.untriedInRow = 0
            if destination.failures < Self.destinationFailureLimit { endPause() }
            items[key]?.stage = .staged(file)
            if lease.isInDoubt { prepareQueue.append(key) } else { prepare(key, file) }
        case .failed(let failure, let isRetryable, let retryAfter):
            claims.untriedInRow = 0
            let delay = retryDelay(item.lease.attempt, retryAfter)
            finish(key, isRetryable ? .retry(failure, delay: delay) : .failed(failure))
        case .notTried(let pausesClaims):
            claims.untriedInRow = min(claims.untriedInRow + 1, 16)
            finish(key, .returned)
            if pausesClaims {
                pauseClaims()
            } else {
                // The queue learns of a blocked host. If it does not, this delay keeps items from being returned and
                // claimed at full speed.
                claim.notBefore = max(claim.notBefore, now + callDelay(claims.untriedInRow, limit: .seconds(5)))
            }
        }
    }

    /// Returns the longer one of the server's delay and a random delay below a bound that doubles with each attempt.
    mutating func retryDelay(_ attempt: Int, _ retryAfter: Duration?) -> Duration {
        let backoff = Backoff(base: .seconds(2), cap: settings.retryDelayLimit)
        let asked = (retryAfter ?? .zero).clamped(.zero, settings.retryAfterLimit)
        return max(asked, backoff.delay(failures: attempt, fraction: fraction()))
    }

    private mutating func prepare(_ key: LeaseKey, _ file: StagedFile) {
        items[key]?.stage = .preparing(file)
        inDestination.insert(key)
        actions.append(.prepare(file))
    }

    /// Earliest time for waiting preparations; `nil` if none waits or the lease is in doubt.
    var nextPreparation: Duration? {
        lease.isInDoubt || prepareQueue.isEmpty ? nil : destination.prepareNotBefore
    }

    mutating func prepareWaiting() {
        guard let time = nextPreparation, now >= time else { return }
        let keys = prepareQueue
        prepareQueue = []
        for key in keys {
            if case .staged(let file) = items[key]?.stage { prepare(key, file) }
        }
    }

    mutating func prepared(_ key: LeaseKey, _ result: Result<PreparedFile, FleetError>) {
        guard case .preparing(let file) = items[key]?.stage else {
            if !isPublishing(key) { _ = destinationAnswered(key) }
            return
        }
        guard destinationAnswered(key) else { return }
        switch result {
        case .success(let prepared):
            destination.cutShortInRow = 0
            items[key]?.stage = .prepared(prepared)
            gateQueue.append(key)
        case .failure(let error):
            switch error.code {
            case .cancelled, .databaseUnreachable, .workerUnknown:
                // The preparation was suspended or the upload could not be recorded. The destination is not to blame.
                items[key]?.stage = .staged(file)
                prepareQueue.append(key)
                destination.cutShortInRow = min(destination.cutShortInRow + 1, 16)
                destination.prepareNotBefore = now + callDelay(destination.cutShortInRow)
                if error.code == .workerUnknown { forgetWorker() }
            default: destinationFailed(key, error)
            }
        }
    }

    private func isPublishing(_ key: LeaseKey) -> Bool {
        if case .publishing = items[key]?.stage { true } else { false }
    }

    /// Handles a file that the destination did not accept.
    ///
    /// An error that blames no file costs no attempt, so that a missing destination does not use up the attempts of a
    /// million items. Other errors may be the fault of the file or of the destination. After a few of these in a row,
    /// the worker returns items and pauses claims. One item per pause still loses an attempt, so that a file that
    /// causes the errors itself fails in the end.
    mutating func destinationFailed(_ key: LeaseKey, _ error: FleetError) {
        guard let item = items[key] else { return }
        if error.blamesNoFile {
            pauseClaims()
            return finish(key, .returned)
        }
        let failure = Failure("destination", error.message)
        switch error.code {
        case .destinationUnreachable, .destinationRefused, .disk:
            destination.failures += 1
            let isWhole = destination.failures >= Self.destinationFailureLimit
            if isWhole, !pauseClaims() {
                finish(key, .returned)
            } else {
                finish(key, .retry(failure, delay: retryDelay(item.lease.attempt, nil)))
            }
        case .invalidInput: finish(key, .failed(failure))
        // The queue did not answer, or the lease had ended. Neither the file nor the destination is to blame.
        case .databaseUnreachable, .databaseRefused, .statementFailed, .workerUnknown, .cancelled:
            finish(key, .returned)
        }
    }

    /// Number of failures in a row after which the destination counts as the cause.
    static let destinationFailureLimit = 3

    private static let pauseBackoff = Backoff(base: .seconds(8), cap: .seconds(300), jitter: .part(2))

    /// Upper bound of the current pause.
    var pauseBound: Duration { Self.pauseBackoff.bound(failures: destination.pauses) }

    /// Pauses claims for 4 s to 5 min, longer with each pause in which nothing succeeds.
    ///
    /// - Returns: whether a new pause begins. During a pause the result is false, because items that were already under
    ///   way do not prolong it.
    @discardableResult
    mutating func pauseClaims() -> Bool {
        if let until = destination.pausedUntil, until > now { return false }
        destination.pauses += 1
        destination.pausedUntil = now + Self.pauseBackoff.delay(failures: destination.pauses, fraction: fraction())
        destination.probeNotBefore = now
        return true
    }

    mutating func destinationWorked() {
        destination.failures = 0
        endPause()
    }

    private mutating func endPause() {
        destination.pausedUntil = nil
        destination.pauses = 0
        destination.probeNotBefore = now
    }
}
