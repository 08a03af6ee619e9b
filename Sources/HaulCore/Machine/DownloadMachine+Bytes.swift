internal import Foundation

/// The transfer: handles arriving bytes and the ends of connections.
extension DownloadMachine {
    package mutating func bytesLanded(_ receivedRanges: PersistedRanges, at now: Instant) -> [Action] {
        switch state {
        case .transferring:
            updatePersisted(receivedRanges)
            let (actions, outcome) = transfer.advance(persisted, &sources, at: now)
            return actions + follow(outcome, at: now) + askInGoodTime(at: now)
        case .paused, .failed, .queued, .inspectingDisk:
            // Bytes of a closed connection may arrive after its end, and a failed sync may make written bytes missing
            // again, even after the user has resumed. The file is inspected only after these events.
            if resource != nil { updatePersisted(receivedRanges) }
            return []
        default: return []
        }
    }

    mutating func updatePersisted(_ receivedRanges: PersistedRanges) {
        patience.noteProgress(to: receivedRanges.count)
        persisted = receivedRanges
    }

    /// Removes the bytes from `persisted`. The partial file will report the change too, but the next request must not
    /// wait for the report.
    package mutating func forget(_ range: Range<Int64>) {
        persisted.written.remove(contentsOf: range)
        persisted.synced.remove(contentsOf: range)
    }

    package mutating func connectionEnded(_ id: ConnectionID, _ end: ConnectionEnd, at now: Instant) -> [Action] {
        switch state {
        case .connecting(id, _):
            switch end {
            case .failed(let error, _):
                return retry(transportVerdict(error), retryAfter: error.retryAfter, at: now)
            case .diskFailed(let error, let receivedRanges):
                persisted = receivedRanges
                return fail(DownloadError(error))
            // Cannot happen: a body ends only after its head was judged, and the first connection waits for its slot.
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
            // A lack of sockets for one more connection says nothing about the host.
            (kind, failure) = (error.kind == .tooManyOpenFiles ? .noConnectionSlot : .failed, error)
        case .noConnectionSlot: kind = .noConnectionSlot
        case .overlapDiffers:
            let learned = transfer.noteDifferentVersions()
            return transfer.closeAll().filter { $0 != .close(id) } + learned + startOver(.changed, at: now)
        case .diskFailed(let error, let receivedRanges):
            persisted = receivedRanges
            return transfer.closeAll().filter { $0 != .close(id) } + fail(DownloadError(error))
        }
        if resource?.total == nil, failure == nil {
            // While the total length is unknown, a range may end before the file does (RFC 9110 §15.3.7). The file has
            // ended only if a further request brings no more bytes.
            let announced = transfer.active[id].map(\.reach) ?? .max
            _ = transfer.closeAll()
            if announced != .max, persisted.prefix < announced {
                // The answer announced bytes that it did not bring, so the file has more bytes.
                return retry(transportVerdict(TransportError(.connectionLost, "the body ended early")), at: now)
            }
            if joining.countAtOpen > 0, persisted.count > joining.countAtOpen, !isStreamLog { return open(at: now) }
            resource?.total = persisted.count
            if let size = settings.size, size != persisted.count {
                let refusal = RangeResponse.Refusal.otherSize(expected: size, actual: persisted.count)
                return retry(
                    RetryClassifier.decision(on: refusal, host: sources.url.host ?? "", isRedirected: false),
                    at: now
                )
            }
            return finish(at: now, bringing: min(joining.countAtOpen, persisted.count)..<persisted.count)
        }
        if kind == .finished, transfer.isDone(with: id, persisted) { return verify() }
        let isOfMirror = transfer.active[id].map { sources.isMirror($0.source) } ?? false
        let (actions, outcome) = transfer.ended(id, kind, persisted, &sources, at: now)
        // The failure of a mirror does not count against the primary source, which is asked again.
        if outcome == .noConnections, isOfMirror { return actions + open(at: now) }
        return actions + follow(outcome, because: failure, at: now)
    }
}
