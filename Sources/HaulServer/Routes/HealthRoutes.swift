internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Liveness and readiness for supervisors, and metrics for Prometheus.
struct HealthRoutes {
    let services: Services
    static let open: Set<String> = ["/livez", "/readyz", "/health"]

    func add(to routes: RouteTable) {
        routes.get("/livez") { _, _ in Self.text(.ok, "ok\n") }
        for path in ["/readyz", "/health"] {
            routes.get(path) { _, _ in
                if let failure = services.downloader.storeFailure { return Self.notReady(failure) }
                do throws(DownloadError) {
                    _ = try await services.downloader.count(DownloadFilter(states: [.failed], limit: 1))
                    return Self.text(.ok, "ok\n")
                } catch { return Self.notReady(error) }
            }
        }
        routes.get("/metrics") { _, _ in Self.text(.ok, try await metrics()) }
    }

    private static func notReady(_ error: DownloadError) -> Response {
        text(.serviceUnavailable, "\(error.code.rawValue): \(error.message)\n")
    }

    private static func text(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: .init(byteBuffer: .init(string: text))
        )
    }

    /// Returns the metrics as text. No label contains a URL or a file name.
    private func metrics() async throws -> String {
        let totals = try await problems { () throws(DownloadError) in
            try await Totals(services.downloader, folder: services.folders.fallback)
        }
        let counts = totals.counts
        var lines: [String] = []
        func add(_ name: String, _ type: String, _ help: String, _ values: [(labels: String, value: Int64)]) {
            lines += ["# HELP \(name) \(help)", "# TYPE \(name) \(type)"]
            lines += values.map { "\(name)\($0.labels) \($0.value)" }
        }
        add(
            "haul_downloads",
            "gauge",
            "Downloads by state.",
            [
                ("{state=\"active\"}", Int64(counts.active)), ("{state=\"queued\"}", Int64(counts.queued)),
                ("{state=\"paused\"}", Int64(counts.paused)), ("{state=\"failed\"}", Int64(counts.failed)),
                ("{state=\"completed\"}", Int64(counts.completed)),
            ]
        )
        add("haul_receive_bytes_per_second", "gauge", "Speed over all downloads.", [("", totals.bytesPerSecond)])
        if let free = totals.freeBytes {
            add("haul_free_bytes", "gauge", "Free space of the default folder.", [("", free)])
        }
        add("haul_event_streams", "gauge", "Open event streams.", [("", Int64(await services.feed.listenerCount))])
        add("haul_build_info", "gauge", "The version.", [("{version=\"\(Downloader.version)\"}", 1)])
        lines += services.metrics?.lines() ?? []
        return lines.joined(separator: "\n") + "\n"
    }
}
