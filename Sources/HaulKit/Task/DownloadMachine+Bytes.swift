internal import Foundation
internal import NIOHTTP1

/// While bytes arrive: what becomes of the whole when something happens to its connections.
extension DownloadMachine {
    mutating func bytesLanded(_ receivedRanges: PersistedRanges, at now: Instant) -> [Action] {
        switch state {
        case .transferring:
            updatePersisted(receivedRanges)
            let (actions, outcome) = transfer.advance(persisted, &sources, at: now)
            return actions + follow(outcome, at: now) + askInGoodTime(at: now)
        case .paused, .failed, .queued, .inspectingDisk:
            // The last bytes of a connection that was closed may land after it, and a sync that failed may take some
            // back, even when the user has resumed already: the file is looked at only after that.
            if resource != nil { updatePersisted(receivedRanges) }
            return []
        default: return []
        }
    }

    mutating func updatePersisted(_ receivedRanges: PersistedRanges) {
        patience.noteProgress(to: receivedRanges.count)
        persisted = receivedRanges
    }

    /// The file will say so too, but the next question must not wait for that.
    mutating func forget(_ range: Range<Int64>) {
        persisted.written.remove(contentsOf: range)
        persisted.synced.remove(contentsOf: range)
    }

    mutating func connectionEnded(_ id: ConnectionID, _ end: ConnectionEnd, at now: Instant) -> [Action] {
        switch state {
        case .connecting(id, _):
            switch end {
            case .failed(let error, _): return retry(transportVerdict(error), at: now)
            case .diskFailed(let error, let receivedRanges):
                persisted = receivedRanges
                return fail(DownloadError(error))
            // A body cannot end before its head was judged, and the first connection waits for its slot.
            case .finished, .overlapDiffers, .noConnectionSlot:
                return retry(transportVerdict(TransportError(.malformedResponse, "a body without a head")), at: now)
            }
        case .comparing(id, _): return comparingEnded(end, at: now)
        case .preparing(id, let preparation, nil):
            state = .preparing(id, preparation, ended: end)
            return []
        case .transferring where transfer.active[id] != nil:
            return transferEnded(id, end, at: now)
        default: return []
        }
    }

    mutating func transferEnded(_ id: ConnectionID, _ end: ConnectionEnd, at now: Instant) -> [Action] {
        let kind: Transfer.End
        var failure: TransportError?
        switch end {
        case .finished(let receivedRanges):
            updatePersisted(receivedRanges)
            kind = .finished
        case .failed(let error, let receivedRanges):
            if let receivedRanges { updatePersisted(receivedRanges) }
            // That there is no socket for one more says nothing of the host.
            (kind, failure) = (error.kind == .tooManyOpenFiles ? .noConnectionSlot : .failed, error)
        case .noConnectionSlot: kind = .noConnectionSlot
        case .overlapDiffers:
            return transfer.closeAll().filter { $0 != .close(id) } + startOver(.changed, at: now)
        case .diskFailed(let error, let receivedRanges):
            persisted = receivedRanges
            return transfer.closeAll().filter { $0 != .close(id) } + fail(DownloadError(error))
        }
        if resource?.total == nil, failure == nil {
            // A range of an unknown whole may end before the whole does (RFC 9110 §15.3.7): only when nothing more
            // comes is that its end.
            let announced = transfer.active[id].map(\.reach) ?? .max
            _ = transfer.closeAll()
            if announced != .max, persisted.prefix < announced {
                // The answer named bytes that it did not bring: they are there.
                return retry(transportVerdict(TransportError(.connectionLost, "the body ended early")), at: now)
            }
            if countAtOpen > 0, persisted.count > countAtOpen { return open(at: now) }
            resource?.total = persisted.count
            if let size = settings.size, size != persisted.count {
                let refusal = RangeResponse.Refusal.otherSize(expected: size, actual: persisted.count)
                return retry(
                    RetryClassifier.decision(on: refusal, host: sources.url.host ?? "", isRedirected: false),
                    at: now
                )
            }
            return finish(at: now, bringing: min(countAtOpen, persisted.count)..<persisted.count)
        }
        if kind == .finished, transfer.isDone(with: id, persisted) { return verify() }
        let isOfMirror = transfer.active[id].map { sources.isMirror($0.source) } ?? false
        let (actions, outcome) = transfer.ended(id, kind, persisted, &sources, at: now)
        // The failure of a mirror is not held against the home source, which is asked again.
        if outcome == .noConnections, isOfMirror { return actions + open(at: now) }
        return actions + follow(outcome, because: failure, at: now)
    }
}
