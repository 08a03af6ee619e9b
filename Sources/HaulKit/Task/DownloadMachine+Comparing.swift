/// Before a resume over a version without a strong name: blocks of what is on disk are compared with the server's, by one
/// small range request each, one after another, so that a kept connection serves them all.
extension DownloadMachine {
    typealias ChoiceID = VersionComparison.ChoiceID

    mutating func blocksChosen(_ id: ChoiceID, _ blocks: [Range<Int64>], at now: Instant) -> [Action] {
        guard state == .choosing(id) else { return [] }
        comparison.choose(blocks)
        return open(at: now)
    }

    mutating func blocksUnreadable(_ id: ChoiceID, _ error: DownloadError) -> [Action] {
        guard state == .choosing(id) else { return [] }
        return fail(error)
    }

    /// The answer to a block's question is good so far: its body is compared, and nothing of it is written.
    mutating func compareBody(_ id: ConnectionID, _ question: RangeRequest) -> [Action] {
        state = .comparing(id, question)
        return [.startBody(id, at: question.offset, compare: question.overlap, limit: 0)]
    }

    /// The body of a block's answer has ended.
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
