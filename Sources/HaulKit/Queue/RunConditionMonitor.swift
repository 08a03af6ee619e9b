internal import Foundation

/// Watches the network and the clock, and updates the ``RunConditions``.
///
/// Confined to the actor of its downloader.
final class RunConditionMonitor {
    private let time: EngineClock
    private let configuredMonitor: (any NetworkMonitor)?
    private let meter: (any NetworkMeter)?
    private(set) var networkMonitor: (any NetworkMonitor)?
    private(set) var timetable: Timetable?
    private var timer: Task<Void, Never>?
    var conditions: RunConditions

    init(_ configuration: Downloader.Configuration, time: EngineClock) {
        self.time = time
        configuredMonitor = configuration.network.monitor
        meter = configuration.network.meter
        timetable = configuration.queue.timetable
        conditions = RunConditions(
            waitsForNetwork: configuration.network.waitsForNetwork,
            allowsMetered: configuration.network.allowsMetered,
            binding: configuration.network.binding
        )
    }

    deinit { networkMonitor?.stop() }

    /// Begins to watch the network if the conditions depend on it and it is not watched yet.
    func watchNetwork(_ onStatus: @escaping @Sendable (NetworkStatus) async -> Bool) {
        guard networkMonitor == nil, conditions.waitsForNetwork || !conditions.allowsMetered else { return }
        let monitor = configuredMonitor ?? SystemNetworkMonitor(meter: meter)
        networkMonitor = monitor
        Self.follow(monitor, onStatus)
    }

    /// - Parameter onStatus: returns false to stop watching.
    private static func follow(
        _ monitor: any NetworkMonitor,
        _ onStatus: @escaping @Sendable (NetworkStatus) async -> Bool
    ) {
        Task {
            for await status in monitor.statuses() {
                guard await onStatus(status) else { return }
            }
        }
    }

    /// Replaces the timetable; `nil` for none. The caller must call ``followTimetable(_:)`` afterwards.
    func setTimetable(_ timetable: Timetable?) { self.timetable = timetable }

    /// Applies the present rule of the timetable. If the rule will change, calls `onChange` once: when the rule
    /// changes, or after an hour if the change comes later.
    func followTimetable(_ onChange: @escaping @Sendable () -> Void) {
        timer?.cancel()
        timer = nil
        let now = time.date()
        conditions.rule = timetable?.rule(at: now) ?? .open(bytesPerSecond: nil)
        guard let next = timetable?.nextChange(after: now) else { return }
        // Waits an hour at most, because the clock may be set or daylight saving time may begin.
        let wait = min(max(next.timeIntervalSince(now), 0.01), 3600)
        timer = Self.timer(.seconds(wait), time.sleep, onChange)
    }

    private static func timer(
        _ wait: Duration,
        _ sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ onChange: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        Task {
            // The sleep fails only by cancellation, when the timer is replaced or stopped.
            guard (try? await sleep(wait)) != nil else { return }
            onChange()
        }
    }

    func stop() {
        networkMonitor?.stop()
        timer?.cancel()
    }
}
