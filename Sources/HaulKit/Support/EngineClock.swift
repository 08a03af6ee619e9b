package import Foundation

/// Time as the engine sees it: one clock for waiting and measuring, and one for dates on the wall.
package struct EngineClock: Sendable {
    let now: @Sendable () -> Instant
    let sleep: @Sendable (Duration) async throws -> Void
    /// Waits between two looks at the bytes of running transfers.
    let tick: @Sendable (Duration) async throws -> Void
    let date: @Sendable () -> Date

    package init<C: Clock>(_ clock: C, date: @escaping @Sendable () -> Date = { Date() }) where C.Duration == Duration {
        self.init(clock, ticks: clock, date: date)
    }

    /// - Parameter ticks: the clock by which running transfers are looked at. With a clock that stands still, their
    ///   progress would never be reported.
    package init<C: Clock, Ticks: Clock>(_ clock: C, ticks: Ticks, date: @escaping @Sendable () -> Date)
    where C.Duration == Duration, Ticks.Duration == Duration {
        let start = clock.now
        now = { Instant(sinceStart: start.duration(to: clock.now)) }
        sleep = { try await clock.sleep(for: $0) }
        tick = { try await ticks.sleep(for: $0) }
        self.date = date
    }
}
