internal import NIOCore

/// The end of an attempt: gaps, failures, and the segments that are missing.
extension StreamRun {
    /// Appends gaps to the log in place of the segments that are missing for good, if the film allows gaps.
    func appendGaps() {
        guard let log, log.film.allowsGaps, missing.fatal == nil, !Task.isCancelled else { return }
        let lost = missing.takeLost(isLive: log.film.isLive)
        for (item, failure) in lost.segments {
            let identity = SegmentIdentity(item.segment).digest
            let isRenewed = kept.renewed.contains(.init(track: item.track, number: item.segment.number))
            log.append(
                gap: item.segment.number,
                item.track,
                item.segment.duration,
                identity,
                failure.text,
                inPlaceOfEarlier: isRenewed
            )
        }
        for (track, gap) in lost.gaps {
            let reason = gap.reason == .declared ? "the playlist marks it as missing" : "the list moved on"
            log.append(gap: gap.numbers.lowerBound, track, gap.seconds, 0, reason)
        }
    }

    func finish() {
        guard let log else { return }
        let appender = log.appender
        if Task.isCancelled { return appender.end(TransportError(.connectionLost, "cancelled")) }
        let listed = terms.progress.counts.segments
        guard let failure = missing.fatal ?? missing.failures.first?.failure else {
            guard missing.gaps.isEmpty else {
                return appender.end(TransportError(reporting: missing.error(nil, of: listed)))
            }
            return appender.end(nil)
        }
        // If the log has no segment, the refusal of a segment counts as a refusal of the film: the machine waits,
        // renews a link, or gives up. Otherwise the error names the missing segments, unless another link to the
        // playlist may help.
        let isOfFilm = !log.hasSegments || terms.mayRenewLink && failure.mayWantLink
        if !appender.hasBegun, isOfFilm, let head = failure.refusal { return appender.end(nil, refusal: head) }
        let error =
            missing.fatal != nil && failure.head == nil
            ? failure.decision.error : missing.error(failure, of: listed)
        guard missing.isWorthRetrying else { return appender.end(TransportError(reporting: error)) }
        appender.end(TransportError(retrying: error, after: missing.retryAfter(now: terms.time.date())))
    }

    /// Ends an attempt that failed before the receiver got a head.
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
}
