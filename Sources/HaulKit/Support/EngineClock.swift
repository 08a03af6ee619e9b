internal import Foundation

/// Time as the engine sees it: one clock for waiting and measuring, one for dates on the wall.
struct EngineClock: Sendable {
    let now: @Sendable () -> Instant
    let sleep: @Sendable (Duration) async throws -> Void
    let date: @Sendable () -> Date

    init<C: Clock>(_ clock: C, date: @escaping @Sendable () -> Date = { Date() }) where C.Duration == Duration {
        let start = clock.now
        now = { Instant(sinceStart: start.duration(to: clock.now)) }
        sleep = { try await clock.sleep(for: $0) }
        self.date = date
    }
}
