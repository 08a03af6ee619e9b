internal import HaulKit

/// Ends of downloads, and the preparation of complete files by the destination.
extension WorkerMachine {
    mutating func downloadEnded(_ key: LeaseKey, _ ending: DownloadEnding) {
        guard let item = items[key], item.stage == .downloading else { return }
        claims.downloadEnded(at: now)
        switch ending {
        case .staged(let file):
            claims.itemWasTried()
            destination.downloadSucceeded(at: now)
            if lease.isInDoubt { items.awaitPreparation(file) } else { prepare(file) }
        case .unchanged(let validator):
            claims.itemWasTried()
            finish(key, .unchanged(validator: validator))
        case .failed(let failure, let isRetryable, let retryAfter):
            claims.itemWasTried()
            let delay = retryDelay(item.lease.attempt, retryAfter)
            finish(key, isRetryable ? .retry(failure, delay: delay) : .failed(failure))
        case .notTried(let pausesClaims):
            claims.itemWasNotTried()
            finish(key, .returned)
            if pausesClaims {
                destination.pauseClaims(at: now, &delays)
            } else {
                // Postpones the next claim, because the queue may not know that the host is blocked. It would then give
                // the returned items out again at once.
                let delay = delays.afterFailures(claims.untriedInRow, limit: .seconds(5))
                calls.postpone(.claim, to: now + delay)
            }
        }
    }

    /// Returns the longer one of the server's delay and a random delay below a bound that doubles with each attempt.
    private mutating func retryDelay(_ attempt: Int, _ retryAfter: Duration?) -> Duration {
        let backoff = Backoff(base: .seconds(2), cap: settings.retryDelayLimit)
        let asked = (retryAfter ?? .zero).clamped(.zero, settings.retryAfterLimit)
        return max(asked, delays.next(backoff, failures: attempt))
    }

    // MARK: Preparation

    private mutating func prepare(_ file: StagedFile) {
        items.beginPreparation(file)
        request(.prepare(file))
    }

    /// Earliest time for waiting preparations; `nil` if none waits or the lease is in doubt.
    var nextPreparation: Duration? {
        lease.isInDoubt || !items.awaitsPreparation ? nil : destination.prepareNotBefore
    }

    mutating func prepareWaiting() {
        guard let time = nextPreparation, now >= time else { return }
        for file in items.takeStaged() { prepare(file) }
    }

    mutating func prepared(_ key: LeaseKey, _ result: Result<PreparedFile, FleetError>) {
        guard case .preparing(let file) = items[key]?.stage else {
            if items[key]?.stage.isPublishing != true { _ = endDestinationWork(key) }
            return
        }
        guard endDestinationWork(key) else { return }
        switch result {
        case .success(let prepared):
            destination.preparationSucceeded()
            items.awaitGate(key, prepared)
        case .failure(let error):
            switch error.code {
            case .cancelled, .databaseUnreachable, .workerUnknown:
                // The preparation was suspended or the upload could not be recorded. The destination is not to blame.
                items.awaitPreparation(file)
                destination.preparationCutShort(at: now, &delays)
                if error.code == .workerUnknown { forgetWorker() }
            default: destinationRefused(key, error)
            }
        }
    }

    // MARK: Failures of the destination

    /// Handles a file that the destination did not accept.
    ///
    /// An error that blames no file costs no attempt, so that a missing destination does not use up the attempts of a
    /// million items. Other errors may be the fault of the file or of the destination. After a few of these in a row,
    /// the worker returns items and pauses claims. One item per pause still loses an attempt, so that a file that
    /// causes the errors itself fails in the end.
    mutating func destinationRefused(_ key: LeaseKey, _ error: FleetError) {
        guard let item = items[key] else { return }
        if error.blamesNoFile {
            destination.pauseClaims(at: now, &delays)
            return finish(key, .returned)
        }
        let failure = Failure("destination", error.message)
        switch error.code {
        case .destinationUnreachable, .destinationRefused, .disk:
            destination.failed()
            if destination.isToBlame, !destination.pauseClaims(at: now, &delays) {
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
}
