internal import Foundation

/// Entry point of the machine: passes each event to its handler.
extension DownloadMachine {
    /// - Parameter surroundings: required if ``needsSurroundings``; `nil` keeps the previous value.
    package mutating func handle(_ event: Event, at now: Instant, in surroundings: Surroundings? = nil) -> [Action] {
        if let surroundings {
            transfer.connectionSlots = surroundings.connectionSlots
            transfer.isHeldBack = surroundings.isHeldBack
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
        case .slotWithdrawn:
            switch state {
            // The download is almost complete or has no slot.
            case .verifying, .publishing, .queued, .paused, .failed: return []
            default: return stop(.yield)
            }
        case .pauseRequested: return stop(.pause)
        case .resumeRequested: return resume()
        case .cancelRequested: return stop(.cancel)
        case .held(let reason): return held(reason)
        case .holdEnded(let reason): return holdEnded(reason)
        case .spaceMissing(let reason, let error): return spaceMissing(reason, error)
        case .slotGranted:
            guard state == .queued else { return [] }
            return recover()
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
        case .pieceChecked(let index, let isRight):
            guard state == .transferring else { return [] }
            let (actions, outcome) = transfer.checked(index, isRight: isRight, &sources, at: now)
            for case .forget(let range) in actions { forget(range) }
            // A wrong piece is requested again at once. `transfer` counts the attempts.
            return actions + (outcome == .noConnections ? open(at: now) : follow(outcome, at: now))
        case .connectionWanted(let hosts):
            guard state == .transferring else { return [] }
            return transfer.yield(from: hosts, at: now)
        case .sourceFound(let id, let link): return sourceFound(id, link, at: now)
        case .sourceFailed(let id, let error): return sourceFailed(id, error, at: now)
        case .sourceReplaced(let link): return sourceReplaced(link, at: now)
        case .timerFired(let id):
            guard case .backingOff = state, id.number == timers else { return [] }
            return recoversAfterRest ? recover() : open(at: now)
        case .verified(let decision): return verified(decision, at: now)
        case .published(let path):
            guard state == .publishing else { return [] }
            wish = .run
            state = .completed(path: path)
            return [.releaseFile, .report]
        case .renamed(let path):
            if case .completed = state { state = .completed(path: path) }
            return []
        case .skipped(let path):
            let closing: [Action]
            switch state {
            case .inspectingDisk, .publishing: closing = []
            case .preparing(let id, _, let ended): closing = ended == nil ? [.close(id)] : []
            default: return []
            }
            wish = .run
            state = .completed(path: path)
            return link.stopAsking() + closing + [.releaseFile, .report]
        case .stepFailed(let error) where error.code == .tooManyOpenFiles: return waitForFiles(error, at: now)
        case .stepFailed(let error):
            switch state {
            case .inspectingDisk, .publishing, .verifying: return settleOr { $0.fail(error) }
            case .preparing(let id, _, let ended):
                return (ended == nil ? [.close(id)] : []) + settleOr { $0.fail(error) }
            case .transferring: return transfer.closeAll() + fail(error)
            default: return []
            }
        }
    }
}
