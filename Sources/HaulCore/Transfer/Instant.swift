/// A moment of the monotonic clock, counted from the start of the downloader. Decisions use these instants only.
package struct Instant: Sendable, Hashable, Comparable {
    package let sinceStart: Duration

    package init(sinceStart: Duration) {
        self.sinceStart = sinceStart
    }

    package static let start = Instant(sinceStart: .zero)

    package static func < (left: Instant, right: Instant) -> Bool { left.sinceStart < right.sinceStart }
    package static func + (instant: Instant, duration: Duration) -> Instant {
        .init(sinceStart: instant.sinceStart + duration)
    }
    package static func - (left: Instant, right: Instant) -> Duration { left.sinceStart - right.sinceStart }
}

extension Duration {
    package var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
