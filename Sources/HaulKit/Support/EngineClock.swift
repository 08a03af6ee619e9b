package import Foundation

/// The clocks of the engine: one for waiting and measuring, and one for dates.
package struct EngineClock: Sendable {
    let now: @Sendable () -> Instant
    let sleep: @Sendable (Duration) async throws -> Void
    /// Waits for one interval of the ``ProgressTicker``.
    let tick: @Sendable (Duration) async throws -> Void
    let date: @Sendable () -> Date

    /// Longest sleep, 100 years. The runtime traps on a sleep that ends more than `Int64.max` seconds after the start
    /// of the clock.
    private static let longestSleep = Duration.seconds(100 * 365 * 86_400)

    package init<C: Clock>(_ clock: C, date: @escaping @Sendable () -> Date = { Date() }) where C.Duration == Duration {
        self.init(clock, ticks: clock, date: date)
    }

    /// - Parameter ticks: the clock of the ``ProgressTicker``. With a clock that stands still, progress would never be
    ///   reported.
    package init<C: Clock, Ticks: Clock>(_ clock: C, ticks: Ticks, date: @escaping @Sendable () -> Date)
    where C.Duration == Duration, Ticks.Duration == Duration {
        let start = clock.now
        now = { Instant(sinceStart: start.duration(to: clock.now)) }
        sleep = { try await clock.sleep(for: min($0, Self.longestSleep)) }
        tick = { try await ticks.sleep(for: $0) }
        self.date = date
    }
}
