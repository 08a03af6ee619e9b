/// A moment of the monotonic clock, counted from the start of the downloader. Decisions use these instants only.
struct Instant: Sendable, Hashable, Comparable {
    let sinceStart: Duration

    static let start = Instant(sinceStart: .zero)

    static func < (left: Instant, right: Instant) -> Bool { left.sinceStart < right.sinceStart }
    static func + (instant: Instant, duration: Duration) -> Instant { .init(sinceStart: instant.sinceStart + duration) }
    static func - (left: Instant, right: Instant) -> Duration { left.sinceStart - right.sinceStart }
}

extension Duration {
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
