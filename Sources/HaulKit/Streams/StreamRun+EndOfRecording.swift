/// The end of a recording: the user ends it, its time limit is reached, or the server has no playlist any more.
extension StreamRun {
    /// Whether a recording that cannot go on may end as complete: gaps are allowed, the user has ended it, or its limit
    /// is reached.
    ///
    /// - Parameter earlier: the records that earlier attempts left of a track; `nil` if they left none.
    func mayEnd(with earlier: StreamLog.Track?) -> Bool {
        if terms.options.allowsGaps || terms.progress.isFinishing { return true }
        guard let limit = terms.options.liveSeconds, let earlier else { return false }
        return earlier.segments.values.reduce(0) { $0 + $1.end.seconds } >= limit
    }

    /// Ends the recording on all tracks. Segments that are already listed may still arrive: see ``outlastEnd()``.
    ///
    /// - Parameter reason: a sentence for ``StreamTerms/notice``.
    func endRecording(_ reason: String) {
        terms.notice("the recording ends with what is there: \(reason)")
        terms.progress.finish()
    }

    /// Ends the recording of an earlier attempt whose playlist the server lacks, if ``mayEnd(with:)`` allows it.
    /// Otherwise passes the answer on. Runs in place of ``run(_:_:_:)``.
    ///
    /// - Parameter answer: the answer to the request for the playlist, 404 or 410.
    func conclude(_ request: TransportRequest, _ answer: ResponseHead) async {
        do throws(SegmentFailure) {
            guard let (found, film) = try await earlier(request), film.isLive, mayEnd(with: found.log.tracks[0]) else {
                return StreamAppender(answer, front: [], to: receiver, on: loop).end(nil, refusal: answer)
            }
            endRecording("The server has no playlist any more.")
            let front = try front(film, found.completion)
            let head = head(film, answer, request, continuing: true)
            let cancelled = Task.isCancelled ? TransportError(.connectionLost, "cancelled") : nil
            StreamAppender(head, front: front, to: receiver, on: loop).end(cancelled)
        } catch { refuse(error) }
    }

    /// Whether the recording is to end, because the user has ended it or its limit is reached.
    var isToEnd: Bool {
        guard !terms.progress.isFinishing else { return true }
        let deadlines = tracks.compactMap(\.deadline)
        return deadlines.max().map { terms.time.now() >= $0 } ?? false
    }

    /// Longest wait for the next segment after the recording is to end.
    private static let lastSegments = Duration.seconds(10)

    /// Waits until the recording is to end, and then until no segment has arrived for ``lastSegments``. Then gives up
    /// the segments that are still missing. The caller cancels this wait when nothing is left.
    func outlastEnd() async {
        while !Task.isCancelled, !isToEnd { await terms.pause(Self.look) }
        var (received, since) = (terms.progress.counts.receivedSegments, terms.time.now())
        while !Task.isCancelled {
            await terms.pause(Self.look)
            let (count, now) = (terms.progress.counts.receivedSegments, terms.time.now())
            if count != received { (received, since) = (count, now) }
            if now - since >= Self.lastSegments { break }
        }
        guard !Task.isCancelled else { return }
        isCutShort = true
        cancelShared()
    }

    /// Notes the segments that had not arrived at the end of the recording as missing.
    func loseRest() {
        guard isCutShort else { return }
        while let item = queue.next() {
            queue.ended()
            missing.lose(item, Self.cutShort)
        }
    }

    static let cutShort = SegmentFailure(
        DownloadError(.incompleteStream, "The recording ended before this segment arrived."),
        isWorthRetrying: false
    )
}
