package import CoreMetrics
internal import Synchronization

/// Keeps the counters and timers that a downloader reports, for `/metrics`.
///
/// Keeps no gauges: ``HealthRoutes`` reads the present values from the downloader.
package final class MetricsRegistry: MetricsFactory, Sendable {
    private enum Series: Sendable {
        case counter(CounterValue)
        case timer(TimerValue)

        var isTimer: Bool { if case .timer = self { true } else { false } }
    }

    /// The series of each metric by their labels.
    private let metrics = Mutex<[String: [String: Series]]>([:])

    package init() {}

    /// Texts of the `# HELP` lines. `docs/metrics.md` defines the metrics exactly.
    private static let help = [
        "haul_downloads_started_total": "Slots granted to downloads.",
        "haul_downloads_ended_total": "Ends of runs by outcome and error code.",
        "haul_received_bytes_total": "Bytes of files received from the network.",
        "haul_retries_total": "Waits before another attempt.",
        "haul_holds_total": "Pauses that the downloader made, by reason.",
        "haul_download_duration_seconds": "Time from the first start of a download to its completion.",
    ]

    /// Returns the lines of all series in Prometheus' text format.
    package func lines() -> [String] {
        var lines: [String] = []
        for (name, series) in metrics.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            lines.append("# HELP \(name) \(Self.help[name] ?? "See docs/metrics.md.")")
            lines.append("# TYPE \(name) \(series.values.contains(where: \.isTimer) ? "summary" : "counter")")
            for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
                switch series {
                case .counter(let value): lines.append("\(name)\(labels) \(value.total)")
                case .timer(let value):
                    let total = value.total
                    lines.append("\(name)_sum\(labels) \(total.seconds)")
                    lines.append("\(name)_count\(labels) \(total.count)")
                }
            }
        }
        return lines
    }

    /// Returns labels as Prometheus writes them: `{outcome="failed",code="diskFull"}`.
    private static func labels(_ dimensions: [(String, String)]) -> String {
        let pairs = dimensions.map { name, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return "\(name)=\"\(escaped)\""
        }
        return pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
    }

    // MARK: - Factory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let labels = Self.labels(dimensions)
        return metrics.withLock { metrics -> CounterValue in
            if case .counter(let value) = metrics[label]?[labels] { return value }
            let value = CounterValue()
            metrics[label, default: [:]][labels] = .counter(value)
            return value
        }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let labels = Self.labels(dimensions)
        return metrics.withLock { metrics -> TimerValue in
            if case .timer(let value) = metrics[label]?[labels] { return value }
            let value = TimerValue()
            metrics[label, default: [:]][labels] = .timer(value)
            return value
        }
    }

    package func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        NOOPMetricsHandler.instance
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        NOOPMetricsHandler.instance
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        NOOPMetricsHandler.instance
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

private final class CounterValue: CounterHandler, Sendable {
    private let count = Mutex<Int64>(0)

    var total: Int64 { count.withLock { $0 } }

    // Wraps instead of trapping; Prometheus takes a smaller number for a restart.
    func increment(by amount: Int64) { count.withLock { $0 &+= amount } }
    func reset() { count.withLock { $0 = 0 } }
}

private final class TimerValue: TimerHandler, Sendable {
    private let sum = Mutex<(nanoseconds: Double, count: Int64)>((nanoseconds: 0, count: 0))

    var total: (seconds: Double, count: Int64) { sum.withLock { (seconds: $0.nanoseconds / 1e9, count: $0.count) } }

    func recordNanoseconds(_ duration: Int64) {
        sum.withLock {
            $0.nanoseconds += Double(duration)
            $0.count &+= 1
        }
    }
}
