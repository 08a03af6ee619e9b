internal import DequeModule

/// Measures the speed over a sliding window. The speed is 0 after a whole window without bytes.
package struct RateMeter: Sendable, Equatable {
    private struct Sample: Sendable, Equatable {
        let at: Instant
        let total: Int64
    }

    private let window: Duration
    private var samples: Deque<Sample> = []

    package init(window: Duration = .seconds(5)) { self.window = window }

    /// Records the total number of arrived bytes. A total below the last one restarts the window.
    package mutating func record(_ total: Int64, at now: Instant) {
        if let last = samples.last, total < last.total || now < last.at { samples.removeAll() }
        samples.append(Sample(at: now, total: total))
        // The newest sample outside the window stays as its left edge.
        while samples.count > 2, now - samples[1].at >= window { samples.removeFirst() }
    }

    package mutating func reset() { samples.removeAll() }

    package func bytesPerSecond(at now: Instant) -> Double {
        guard let first = samples.first, let last = samples.last, now - last.at < window else { return 0 }
        let time = (now - first.at).seconds
        return time > 0 ? Double(last.total - first.total) / time : 0
    }
}
