import Testing

@testable import HaulFleet

/// The status of a queue in the text format of Prometheus.
struct StatusMetricsTests {
    private func status(ready: Int64 = 0, rate: Double = 0) -> FleetStatus {
        FleetStatus(
            settings: QueueSettings(),
            totals: .init(
                items: 10,
                unfed: 1,
                ready: ready,
                later: 2,
                leased: 3,
                completed: 4,
                failed: 5,
                cancelled: 8,
                retried: 6,
                bytes: 1 << 40,
                isEstimate: false
            ),
            rate: .init(itemsPerSecond: rate, bytesPerSecond: 1.5, failuresPerSecond: 0),
            workers: [
                .init(
                    id: 1,
                    label: "box \"a\\b\"\n/1",
                    state: "live",
                    heldItems: 7,
                    publishing: 0,
                    secondsSinceBeat: 0.25,
                    secondsSinceStart: 9
                ),
                .init(
                    id: 2,
                    label: "gone/2",
                    state: "dead",
                    heldItems: 0,
                    publishing: 0,
                    secondsSinceBeat: 99,
                    secondsSinceStart: 100
                ),
            ],
            hosts: [],
            failures: [.init(kind: "http_404", failed: 5, retried: 0, exampleItem: 1, exampleMessage: "Gone.")],
            orphanUploads: 0,
            oldestTransaction: nil
        )
    }

    @Test func eachMetricIsDescribedOnceAndHasItsValues() {
        let lines = StatusMetrics.text(status(ready: 9, rate: 2)).split(separator: "\n").map(String.init)
        for line in [
            "# TYPE haul_fleet_items gauge", "haul_fleet_items{state=\"ready\"} 9",
            "haul_fleet_items{state=\"failed\"} 5",
            "haul_fleet_items{state=\"cancelled\"} 8",
            "haul_fleet_completed_bytes 1099511627776", "# TYPE haul_fleet_retries_total counter",
            "haul_fleet_retries_total 6", "haul_fleet_bytes_per_second 1.5", "haul_fleet_backlog_items 10",
            "haul_fleet_backlog_seconds 5", "haul_fleet_workers{state=\"live\"} 1",
            "haul_fleet_worker_items{worker=\"box \\\"a\\\\b\\\"\\n/1\"} 7",
            "haul_fleet_failed_items{kind=\"http_404\"} 5",
        ] { #expect(lines.contains(line)) }
        let helps = lines.filter { $0.hasPrefix("# HELP") }.compactMap { $0.split(separator: " ").dropFirst(2).first }
        #expect(Set(helps).count == helps.count)
        #expect(!lines.contains { $0.contains("haul_fleet_host_items") }, "there is no host")
        #expect(!lines.contains { $0.contains("gone/2") }, "only living workers hold items")
    }

    @Test func aBacklogWithoutProgressHasNoEnd() {
        #expect(StatusMetrics.text(status(ready: 1)).contains("\nhaul_fleet_backlog_seconds +Inf\n"))
        #expect(StatusMetrics.text(status(ready: -1)).contains("\nhaul_fleet_backlog_seconds 0\n"))
    }
}
