internal import Foundation

/// Entry point of the machine: passes each event to its handler.
extension DownloadMachine {
    /// - Parameter surroundings: required if the event may open additional connections; `nil` keeps the previous value.
    package mutating func handle(_ event: Event, at now: Instant, in surroundings: Surroundings? = nil) -> [Action] {
        if let surroundings {
            transfer.slots.replace(surroundings.connectionSlots, inUse: surroundings.additionalConnections)
            transfer.isHeldBack = surroundings.isHeldBack
            if let work = surroundings.localWork { transfer.localWork = work }
        }
        switch event {
        case .hostKnown(let known, let expiry):
            host = known ?? KnownHost()
            if let expiry { link.setExpiry(expiresAt: expiry, at: now) }
            return []
        case .reconfigured(let retry, let waitsForSpace, let limits):
            (settings.retry, settings.waitsForSpace, settings.limits) = (retry, waitsForSpace, limits)
            return []
        case .retargeted(let settings, let isFromReplacedSource):
            retarget(settings, isFromReplacedSource: isFromReplacedSource)
            return []
        case .slotWithdrawn: return slotWithdrawn()
        case .pauseRequested: return stop(.pause)
        case .resumeRequested: return resume()
        case .cancelRequested: return stop(.cancel)
        case .held(let reason): return held(reason)
        case .holdEnded(let reason): return holdEnded(reason)
        case .spaceMissing(let reason, let error, let version):
            if let version { takeOver(version) }
            return spaceMissing(reason, error)
        case .slotGranted: return state == .queued ? recover() : []
        case .recovered(let found, let version):
            if let version { takeOver(version) }
            return recovered(found, at: now)
        case .headReceived(let id, let head, let retryAfter):
            return headReceived(id, head, retryAfter: retryAfter, at: now)
        case .blocksChosen(let id, let blocks): return blocksChosen(id, blocks, at: now)
        case .blocksUnreadable(let id, let error): return blocksUnreadable(id, error)
        case .prepared(let id): return prepared(id, at: now)
        case .bytesLanded(let persisted): return bytesLanded(persisted, at: now)
        case .connectionEnded(let id, let end): return connectionEnded(id, end, at: now)
        case .pieceChecked(let index, let isRight): return pieceChecked(index, isRight: isRight, at: now)
        case .readersWait(let positions): return readersWait(positions, at: now)
        case .connectionWanted(let hosts): return state == .transferring ? transfer.yield(from: hosts, at: now) : []
        case .sourceFound(let id, let link): return sourceFound(id, link, at: now)
        case .sourceFailed(let id, let error): return sourceFailed(id, error, at: now)
        case .sourceReplaced(let link): return sourceReplaced(link, at: now)
        case .timerFired(let id): return timerFired(id, at: now)
        case .assembled(let file, let persisted): return assembled(file, persisted)
        case .verified(let decision): return verified(decision, at: now)
        case .published(let path): return published(path)
        case .renamed(let path):
            if case .completed = state { state = .completed(path: path) }
            return []
        case .skipped(let path): return skipped(path)
        case .stepFailed(let error): return stepFailed(error, at: now)
        }
    }

    private mutating func slotWithdrawn() -> [Action] {
        switch state {
        // The download is almost complete or has no slot.
        case .verifying, .publishing, .queued, .paused, .failed: []
        default: stop(.yield)
        }
    }

    private mutating func pieceChecked(_ index: Int, isRight: Bool, at now: Instant) -> [Action] {
        guard state == .transferring else { return [] }
        let (actions, outcome) = transfer.checked(index, isRight: isRight, &sources, at: now)
        for case .forget(let range) in actions { forget(range) }
        // A wrong piece is requested again at once. `transfer` counts the attempts.
        return actions + (outcome == .noConnections ? open(at: now) : follow(outcome, at: now))
    }

    private mutating func readersWait(_ positions: [Int64], at now: Instant) -> [Action] {
        switch state {
        case .completed, .cancelled: return []
        default: break
        }
        transfer.readers.wait(at: positions)
        return state == .transferring && !positions.isEmpty ? bytesLanded(persisted, at: now) : []
    }

    private mutating func timerFired(_ id: TimerID, at now: Instant) -> [Action] {
        guard case .backingOff = state, id == restTimer.timer else { return [] }
        return restTimer.recovers ? recover() : open(at: now)
    }

    private mutating func published(_ path: String) -> [Action] {
        guard state == .publishing else { return [] }
        wish = .run
        state = .completed(path: path)
        return [.releaseFile, .report]
    }

    /// Completes the download with an existing file.
    private mutating func skipped(_ path: String) -> [Action] {
        let closing: [Action]
        switch state {
        case .inspectingDisk, .publishing: closing = []
        case .preparing(let id, _, let ended): closing = ended == nil ? [.close(id)] : []
        default: return []
        }
        wish = .run
        state = .completed(path: path)
        return link.stopAsking() + closing + [.releaseFile, .report]
    }

    /// Ends the download after a failed step, or waits until other files are closed.
    private mutating func stepFailed(_ error: DownloadError, at now: Instant) -> [Action] {
        if error.code == .tooManyOpenFiles { return waitForFiles(error, at: now) }
        switch state {
        case .verifying where error.isOfFilm && isStreamLog && joining.foundAll:
            return settleOr { $0.fetchAgain(error, at: now) }
        case .inspectingDisk, .publishing, .verifying: return settleOr { $0.fail(error) }
        case .preparing(let id, _, let ended):
            return (ended == nil ? [.close(id)] : []) + settleOr { $0.fail(error) }
        case .transferring: return transfer.closeAll() + fail(error)
        default: return []
        }
    }

    /// Fetches the bytes of a film again, at most once in a run, if the film could not be put together although all its
    /// bytes were on the disk before this attempt. The server may have other bytes by now.
    private mutating func fetchAgain(_ error: DownloadError, at now: Instant) -> [Action] {
        guard patience.refetches() else { return fail(error) }
        joining.dropBytes()
        return open(at: now)
    }
}

extension DownloadError {
    /// Whether the bytes of the film are the cause, rather than the disk or a program that is not installed.
    fileprivate var isOfFilm: Bool { code == .invalidStream || code == .incompleteStream }
}
