internal import Metrics

/// The metrics of a downloader. Label values are few and known in advance: the name of the downloader, states,
/// outcomes, error codes and hold reasons. A label never holds a URL, a host or an id.
struct DownloaderMetrics: Sendable {
    private let started: Counter
    private let completed: Counter
    private let cancelled: Counter
    private let retries: Counter
    private let bytes: Counter
    private let duration: Metrics.Timer
    private let running: Gauge
    private let waiting: Gauge
    private let backingOff: Gauge
    private let failed: [DownloadError.Code: Counter]
    private let held: [HoldReason: Counter]

    init(_ name: String, _ factory: any MetricsFactory) {
        func counter(_ label: String, _ dimensions: (String, String)...) -> Counter {
            Counter(label: label, dimensions: [("downloader", name)] + dimensions, factory: factory)
        }
        func gauge(_ state: String) -> Gauge {
            Gauge(label: "haul_downloads", dimensions: [("downloader", name), ("state", state)], factory: factory)
        }
        func ended(_ outcome: String, _ code: String = "") -> Counter {
            counter("haul_downloads_ended_total", ("outcome", outcome), ("code", code))
        }
        started = counter("haul_downloads_started_total")
        completed = ended("completed")
        cancelled = ended("cancelled")
        failed = Dictionary(
            uniqueKeysWithValues: DownloadError.Code.allCases.map { ($0, ended("failed", $0.rawValue)) }
        )
        held = Dictionary(
            uniqueKeysWithValues: HoldReason.allCases.map { ($0, counter("haul_holds_total", ("reason", $0.rawValue))) }
        )
        retries = counter("haul_retries_total")
        bytes = counter("haul_received_bytes_total")
        duration = Metrics.Timer(
            label: "haul_download_duration_seconds",
            dimensions: [("downloader", name)],
            preferredDisplayUnit: .seconds,
            factory: factory
        )
        running = gauge("running")
        waiting = gauge("waiting")
        backingOff = gauge("backingOff")
    }

    /// Counts a download that has got a slot.
    func start() { started.increment() }

    func receive(_ count: Int64) { bytes.increment(by: count) }

    func lines(running: Int, waiting: Int, backingOff: Int) {
        self.running.record(running)
        self.waiting.record(waiting)
        self.backingOff.record(backingOff)
    }

    /// - Parameter seconds: time from the first start to the end; `nil` if the record lacks one of the two.
    func complete(after seconds: Double?) {
        completed.increment()
        if let seconds { duration.recordSeconds(max(0, seconds)) }
    }

    func fail(_ code: DownloadError.Code) { failed[code]?.increment() }
    func cancel() { cancelled.increment() }
    func retry() { retries.increment() }
    func hold(_ reason: HoldReason) { held[reason]?.increment() }
}
