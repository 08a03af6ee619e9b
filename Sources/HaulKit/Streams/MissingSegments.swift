internal import Foundation

/// Collects the segments that an attempt could not get and the gaps of the playlists, and decides whether the attempt
/// goes on.
struct MissingSegments {
    private(set) var failures: [(item: SegmentQueue.Item, failure: SegmentFailure)] = []
    private(set) var gaps: [(track: Int, gap: StreamGap)] = []
    /// Failure that ends the attempt although other segments have not been fetched.
    private(set) var fatal: SegmentFailure?
    private var hasReceived = false
    /// Number of failures since the last received segment. Counts only failures that may concern the whole film:
    /// refusals that may mean an expired signature, and failures that are worth another attempt.
    private var failuresInRow = 0

    /// Most attempts at one segment during one attempt at the film.
    private static let mostAttempts = 3

    /// Longest delay that the server may ask for before the next attempt at a segment. After a request for a longer
    /// delay, a recording leaves the segment out. For any other film, the attempt ends, and the machine waits before
    /// the next attempt at the film.
    private static let longestWait = Duration.seconds(60)

    mutating func add(_ gap: StreamGap, of track: Int) { gaps.append((track, gap)) }

    mutating func segmentReceived() {
        hasReceived = true
        failuresInRow = 0
    }

    /// Ends the attempt with `failure`, unless another failure has ended it.
    mutating func end(_ failure: SegmentFailure) { fatal = fatal ?? failure }

    /// Notes a segment that the end of a recording left out.
    mutating func lose(_ item: SegmentQueue.Item, _ failure: SegmentFailure) { failures.append((item, failure)) }

    /// Notes a failure of a segment.
    ///
    /// - Parameter film: decides whether a failure ends the attempt. A recording leaves the segment out instead.
    /// - Returns: the segment if this attempt tries it again.
    mutating func failed(_ item: SegmentQueue.Item, _ failure: SegmentFailure, of film: StreamFilm)
        -> SegmentQueue.Item?
    {
        let (isLive, isWorthRetrying) = (film.isLive, failure.decision.isWorthRetrying)
        if failure.mayBeExpired || isWorthRetrying { failuresInRow += 1 }
        let isDelayed = isWorthRetrying && (item.retryAfter ?? .zero) > Self.longestWait
        // After a change of the file, all further segments would belong to the new version.
        let isFatal =
            failure.decision.error.code == .contentChanged
            || !isLive && (isDelayed || failuresInRow >= mostInRow(failure, allowsGaps: film.allowsGaps))
        if isFatal { end(failure) }
        var item = item
        item.attempts += 1
        let isRepeated = (isWorthRetrying || isLive) && item.attempts < Self.mostAttempts
        if isRepeated, !isFatal, !isDelayed { return item }
        failures.append((item, failure))
        return nil
    }

    /// Returns how many failures in a row end the attempt. They show that the other segments would fail too, because a
    /// signature has expired or the server cannot be reached. A film with gaps allows more refusals, because some
    /// servers refuse segments that they lack.
    private func mostInRow(_ failure: SegmentFailure, allowsGaps: Bool) -> Int {
        if failure.mayBeExpired { return allowsGaps ? 32 : 3 }
        return failure.decision.isWorthRetrying ? 32 : .max
    }

    // MARK: The end of the attempt

    /// Removes the gaps and the segments that are missing for good, and returns both.
    mutating func takeLost(isLive: Bool) -> (
        segments: [(item: SegmentQueue.Item, failure: SegmentFailure)], gaps: [(track: Int, gap: StreamGap)]
    ) {
        let segments = failures.filter { isLive || !mayComeNextTime($0.failure) }
        let gaps = gaps
        failures = isLive ? [] : failures.filter { mayComeNextTime($0.failure) }
        self.gaps = []
        return (segments, gaps)
    }

    /// Whether another attempt, which reads the playlist again, may bring the segment. A refusal counts as an expired
    /// signature only if another segment arrived, which shows that the signatures were valid at first.
    private func mayComeNextTime(_ failure: SegmentFailure) -> Bool {
        failure.decision.isWorthRetrying || failure.mayBeExpired && hasReceived
    }

    /// Whether another attempt may bring the missing segments.
    var isWorthRetrying: Bool {
        fatal.map { $0.decision.isWorthRetrying || $0.mayBeExpired }
            ?? failures.contains { mayComeNextTime($0.failure) }
    }

    /// Returns the longest delay that a server asked for before the next attempt; `nil` if none did.
    func retryAfter(now: Date) -> Duration? {
        failures.compactMap { $0.failure.head?.headers.retryAfter(now: now) }.max()
    }

    /// Returns the error of a film that is not whole.
    ///
    /// - Parameters:
    ///   - failure: the reason; `nil` if the playlist marks the segments as missing.
    ///   - listed: number of segments that the playlists list, without the gaps.
    func error(_ failure: SegmentFailure?, of listed: Int) -> DownloadError {
        var missing = failures.map { ($0.item.segment.number...$0.item.segment.number, $0.item.segment.duration) }
        missing += gaps.map { ($0.gap.numbers, $0.gap.seconds) }
        missing.sort { $0.0.lowerBound < $1.0.lowerBound }
        let seconds = missing.reduce(0) { $0 + $1.1 }
        let named = missing.prefix(8).map { numbers, _ in
            numbers.count == 1 ? "\(numbers.lowerBound)" : "\(numbers.lowerBound) to \(numbers.upperBound)"
        }
        let more = missing.count > named.count ? " and \(missing.count - named.count) more" : ""
        let count = missing.count == 1 ? "1 segment" : "\(missing.count) segments"
        let what =
            missing.isEmpty
            ? "The stream is not whole."
            : "\(count) of \(listed + gaps.count) could not be had (\(String(format: "%.0f", seconds)) s of the film): number \(named.joined(separator: ", "))\(more)."
        let why = failure.map { " " + $0.decision.error.message } ?? " The playlist marks them as missing."
        return DownloadError(
            .incompleteStream,
            what + why + " Everything else is kept, and resuming the download fetches only what is missing.",
            cause: failure?.decision.error.cause,
            status: failure?.decision.error.status
        )
    }
}
