internal import Synchronization

/// Progress of a film. ``StreamRun`` counts the segments; the snapshots of the download show the counts.
final class StreamProgress: Sendable {
    struct Counts: Sendable, Hashable {
        var segments = 0
        var receivedSegments = 0
        /// Duration of the first track in seconds: of all its segments, and of the received ones.
        var seconds = 0.0
        var receivedSeconds = 0.0
        /// Number of bytes of the received segments of all tracks.
        var receivedBytes: Int64 = 0
        /// Whether more segments may be listed.
        var isLive = false

        /// Length in bytes that no segment exceeds: 1 GiB or 64 times the average of the received segments, whichever
        /// is more.
        var mostSegmentBytes: Int64 {
            guard receivedSegments > 0 else { return 1 << 30 }
            return max(1 << 30, min(receivedBytes / Int64(receivedSegments), 1 << 50) * 64)
        }

        /// Estimate of the film's length in bytes, from the received segments; `nil` before the first one, and for a
        /// live film.
        var estimatedBytes: Int64? {
            guard receivedSeconds > 0, seconds >= receivedSeconds, !isLive else { return nil }
            let bytes = Double(receivedBytes) / receivedSeconds * seconds
            return bytes < 1e18 ? Int64(bytes) : nil
        }
    }

    private struct State {
        var counts = Counts()
        var isFinishing = false
    }

    private let state = Mutex(State())

    var counts: Counts { state.withLock(\.counts) }

    func set(_ counts: Counts) { state.withLock { $0.counts = counts } }

    func listed(_ segments: Int, seconds: Double) {
        state.withLock { state in
            state.counts.segments += segments
            state.counts.seconds += seconds
        }
    }

    /// - Parameter countsTime: whether to count the segment's duration: only the first track measures the film.
    func received(_ end: StreamSegmentEnd, countsTime: Bool) {
        state.withLock { state in
            state.counts.receivedSegments += 1
            if countsTime { state.counts.receivedSeconds += end.seconds }
            state.counts.receivedBytes += end.length
        }
    }

    /// Subtracts a segment of an earlier attempt from the counts, because it is fetched again.
    func dropped(_ end: StreamSegmentEnd, countsTime: Bool) {
        state.withLock { state in
            state.counts.receivedSegments -= 1
            if countsTime { state.counts.receivedSeconds -= end.seconds }
            state.counts.receivedBytes -= end.length
        }
    }

    // MARK: The end of a recording

    /// Whether a live recording is to end with the received segments.
    var isFinishing: Bool { state.withLock(\.isFinishing) }

    func finish() { state.withLock { $0.isFinishing = true } }
}

extension DownloadSnapshot.Stream {
    init(_ counts: StreamProgress.Counts) {
        self.init(
            segments: counts.segments,
            receivedSegments: counts.receivedSegments,
            seconds: counts.seconds,
            receivedSeconds: counts.receivedSeconds,
            isLive: counts.isLive
        )
    }
}
