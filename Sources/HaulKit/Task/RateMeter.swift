internal import DequeModule

/// Speed over a sliding window. Reads 0 once nothing has arrived for the length of the window.
struct RateMeter: Sendable, Equatable {
    private struct Sample: Sendable, Equatable {
        let at: Instant
        let total: Int64
    }

    private let window: Duration
    private var samples: Deque<Sample> = []

    init(window: Duration = .seconds(5)) { self.window = window }

    /// Notes how many bytes have arrived in all. A count below the last one starts the window again.
    mutating func record(_ total: Int64, at now: Instant) {
        if let last = samples.last, total < last.total || now < last.at { samples.removeAll() }
        samples.append(Sample(at: now, total: total))
        // The newest sample that lies outside the window stays: it is the window's left edge.
        while samples.count > 2, now - samples[1].at >= window { samples.removeFirst() }
    }

    mutating func reset() { samples.removeAll() }

    func bytesPerSecond(at now: Instant) -> Double {
        guard let first = samples.first, let last = samples.last, now - last.at < window else { return 0 }
        let time = (now - first.at).seconds
        return time > 0 ? Double(last.total - first.total) / time : 0
    }
}
