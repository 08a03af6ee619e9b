internal import Foundation

/// Watches the network and the clock, and keeps the ``RunConditions`` that follow from them.
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

    /// Begins to watch the network, where the conditions ask for it and it is not watched yet.
    func watchNetwork(_ onStatus: @escaping @Sendable (NetworkStatus) async -> Bool) {
        guard networkMonitor == nil, conditions.waitsForNetwork || !conditions.allowsMetered else { return }
        let monitor = configuredMonitor ?? SystemNetworkMonitor(meter: meter)
        networkMonitor = monitor
        Self.follow(monitor, onStatus)
    }

    /// - Parameter onStatus: false to end.
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

    /// Another timetable from now on; nil for none. ``followTimetable(_:)`` is to be called then.
    func setTimetable(_ timetable: Timetable?) { self.timetable = timetable }

    /// Takes over what the timetable says now, and calls back when it says something else.
    func followTimetable(_ onChange: @escaping @Sendable () -> Void) {
        timer?.cancel()
        timer = nil
        let now = time.date()
        conditions.rule = timetable?.rule(at: now) ?? .open(bytesPerSecond: nil)
        guard let next = timetable?.nextChange(after: now) else { return }
        // An hour at most: the clock may be set, and summer come.
        let wait = min(max(next.timeIntervalSince(now), 0.01), 3600)
        timer = Self.timer(.seconds(wait), time.sleep, onChange)
    }

    private static func timer(
        _ wait: Duration,
        _ sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ onChange: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        Task {
            // Ends early only by cancellation, and then another one has been set.
            guard (try? await sleep(wait)) != nil else { return }
            onChange()
        }
    }

    func stop() {
        networkMonitor?.stop()
        timer?.cancel()
    }
}
