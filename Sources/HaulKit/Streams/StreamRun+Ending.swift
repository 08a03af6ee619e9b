internal import Foundation
internal import NIOCore

/// The end of an attempt: gaps, failures, and the segments that are missing.
extension StreamRun {
    /// Records the gaps of a film that may have some.
    func appendGaps() throws(SegmentFailure) {
        guard let appender, film?.allowsGaps == true, fatal == nil, !Task.isCancelled else { return }
        for (item, failure) in failures where isForGood(failure) {
            let identity = SegmentIdentity(item.segment).digest
            append(gap: item.segment.number, item.track, item.segment.duration, identity, failure.text, to: appender)
        }
        failures.removeAll { isForGood($0.failure) }
        for (track, gap) in gaps {
            let reason = gap.reason == .declared ? "the playlist marks it as missing" : "the list moved on"
            append(gap: gap.numbers.lowerBound, track, gap.seconds, 0, reason, to: appender)
        }
        gaps = []
    }

    /// Whether a segment is missing for good, as far as this attempt can know.
    private func isForGood(_ failure: SegmentFailure) -> Bool { film?.isLive == true || !mayComeNextTime(failure) }

    /// Whether another attempt, which reads the playlist again, may bring the segment. A refusal may be an expired
    /// signature only if the playlist was good for other segments.
    private func mayComeNextTime(_ failure: SegmentFailure) -> Bool {
        failure.decision.isWorthRetrying || failure.mayBeExpired && received > 0
    }

    /// Appends a gap to the log unless it is there.
    private func append(
        gap number: Int64,
        _ track: Int,
        _ seconds: Double,
        _ identity: UInt64,
        _ reason: String,
        to appender: StreamAppender
    ) {
        let track = UInt8(clamping: track)
        guard log.segment(number, of: track) == nil else { return }
        let end = StreamSegmentEnd(seconds: seconds, length: 0, identity: identity, reason: reason)
        _ = appender.append(StreamRecord.whole(.gap, track: track, number: number, attempt: attempt, end.bytes))
    }

    func finish() {
        guard let appender else { return }
        if Task.isCancelled { return appender.end(TransportError(.connectionLost, "cancelled")) }
        guard let failure = fatal ?? failures.first?.failure else {
            guard gaps.isEmpty else { return appender.end(TransportError(reporting: incomplete(nil))) }
            return appender.end(nil)
        }
        // A refusal of the first segment is one of the film: the machine waits, renews a link, or gives up.
        if !appender.hasBegun, let head = failure.refusal { return appender.end(nil, refusal: head) }
        let isWorthRetrying =
            fatal.map { $0.decision.isWorthRetrying || $0.mayBeExpired }
            ?? failures.contains { mayComeNextTime($0.failure) }
        let error = fatal.map { $0.head == nil ? $0.decision.error : incomplete($0) } ?? incomplete(failure)
        appender.end(isWorthRetrying ? TransportError(retrying: error) : TransportError(reporting: error))
    }

    /// Ends an attempt that has not begun.
    func refuse(_ failure: SegmentFailure) {
        let (receiver, loop) = (receiver, loop)
        let error = failure.decision.error
        if let head = failure.refusal {
            return StreamAppender(head, front: [], to: receiver, on: loop).end(nil, refusal: head)
        }
        let ending =
            failure.decision.isWorthRetrying ? TransportError(retrying: error) : TransportError(reporting: error)
        loop.execute { receiver.ended(ending) }
    }

    private func incomplete(_ failure: SegmentFailure?) -> DownloadError {
        let counts = terms.progress.counts
        var missing = failures.map { ($0.item.segment.number...$0.item.segment.number, $0.item.segment.duration) }
        missing += gaps.map { ($0.gap.numbers, $0.gap.seconds) }
        missing.sort { $0.0.lowerBound < $1.0.lowerBound }
        let seconds = missing.reduce(0) { $0 + $1.1 }
        let listed = missing.prefix(8).map { numbers, _ in
            numbers.count == 1 ? "\(numbers.lowerBound)" : "\(numbers.lowerBound) to \(numbers.upperBound)"
        }
        let more = missing.count > listed.count ? " and \(missing.count - listed.count) more" : ""
        let count = missing.count == 1 ? "1 segment" : "\(missing.count) segments"
        let what =
            missing.isEmpty
            ? "The stream is not whole."
            : "\(count) of \(counts.segments + gaps.count) could not be had (\(String(format: "%.0f", seconds)) s of the film): number \(listed.joined(separator: ", "))\(more)."
        let why = failure.map { " " + $0.decision.error.message } ?? " The playlist marks them as missing."
        return DownloadError(
            .incompleteStream,
            what + why + " Everything else is kept, and resuming the download fetches only what is missing.",
            cause: failure?.decision.error.cause,
            status: failure?.decision.error.status
        )
    }
}
