/// Comparison of blocks before a resume of a version without a strong validator.
///
/// One small range request for each block compares the bytes on the disk with the server's. The requests run one after
/// another, so that one persistent connection serves them all.
extension DownloadMachine {
    package typealias ChoiceID = VersionComparison.ChoiceID

    package mutating func blocksChosen(_ id: ChoiceID, _ blocks: [Range<Int64>], at now: Instant) -> [Action] {
        guard state == .choosing(id) else { return [] }
        comparison.choose(blocks)
        return open(at: now)
    }

    package mutating func blocksUnreadable(_ id: ChoiceID, _ error: DownloadError) -> [Action] {
        guard state == .choosing(id) else { return [] }
        return fail(error)
    }

    /// Starts the comparison of a block with the body of its answer. No byte of the body is written.
    mutating func compareBody(_ id: ConnectionID, _ question: RangeRequest) -> [Action] {
        state = .comparing(id, question)
        return [.startBody(id, at: question.offset, compare: question.overlap, limit: 0)]
    }

    /// Handles the end of the body for a block.
    mutating func comparingEnded(_ end: ConnectionEnd, at now: Instant) -> [Action] {
        switch end {
        case .finished:
            comparison.noteAgreed()
            patience.noteCompared()
            return open(at: now)
        case .failed(let error, _): return retry(transportVerdict(error), at: now)
        case .overlapDiffers: return startOver(.changed, at: now)
        case .diskFailed(let error, let receivedRanges):
            persisted = receivedRanges
            return fail(DownloadError(error))
        case .noConnectionSlot: return retry(transportVerdict(TransportError(.connectionLost)), at: now)
        }
    }
}
