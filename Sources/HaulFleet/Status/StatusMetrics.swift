/// Formats a status in the text format of Prometheus. `docs/fleet.md` defines the metrics.
package struct StatusMetrics {
    private let status: FleetStatus
    private var lines: [String] = []

    /// The text, which ends with a line feed.
    package static func text(_ status: FleetStatus) -> String {
        var metrics = StatusMetrics(status: status)
        metrics.addQueue()
        metrics.addRates()
        metrics.addWorkers()
        metrics.addHosts()
        metrics.addFailures()
        return metrics.lines.joined(separator: "\n") + "\n"
    }

    private init(status: FleetStatus) { self.status = status }

    private mutating func addQueue() {
        let totals = status.totals
        let states = [
            ("unfed", totals.unfed), ("ready", totals.ready), ("later", totals.later), ("leased", totals.leased),
            ("completed", totals.completed), ("failed", totals.failed), ("cancelled", totals.cancelled),
        ]
        add("items", "Items of the queue by state.", states.map { (["state": $0.0], Double($0.1)) })
        add("completed_bytes", "Total length of the completed files.", [([:], Double(totals.bytes))])
        add("retries_total", "Failed attempts that were followed by another.", counter: Double(totals.retried))
        add("orphan_uploads", "Multipart uploads to abort.", [([:], Double(status.orphanUploads))])
        add("paused", "1 if the queue gives out no items.", [([:], status.settings.isPaused ? 1 : 0)])
        add("draining", "1 if workers end when they hold no item.", [([:], status.settings.isDraining ? 1 : 0)])
        add(
            "oldest_transaction_seconds",
            "Age of the oldest transaction that keeps vacuum from removing rows.",
            [([:], status.oldestTransaction?.seconds ?? 0)]
        )
    }

    private mutating func addRates() {
        let rate = status.rate
        add("items_per_second", "Completed items, over the last minute.", [([:], rate.itemsPerSecond)])
        add("bytes_per_second", "Bytes of completed files, over the last minute.", [([:], rate.bytesPerSecond)])
        add("failures_per_second", "Failed attempts, over the last minute.", [([:], rate.failuresPerSecond)])
        let waiting = Double(status.totals.ready) + Double(status.totals.unfed)
        add("backlog_items", "Items that a worker may take.", [([:], waiting)])
        let seconds = waiting == 0 ? 0 : rate.itemsPerSecond > 0 ? waiting / rate.itemsPerSecond : .infinity
        add("backlog_seconds", "Time to complete these items at the rate of the last minute.", [([:], seconds)])
    }

    private mutating func addWorkers() {
        let states = ["live", "left", "dead"]
        add(
            "workers",
            "Workers by state.",
            states.map { state in
                (["state": state], Double(status.workers.count { $0.state == state }))
            }
        )
        let live = status.workers.filter { $0.state == "live" }
        add("worker_items", "Items that a worker holds.", live.map { (["worker": $0.label], Double($0.heldItems)) })
        add(
            "worker_silent_seconds",
            "Time since the last beat.",
            live.map { (["worker": $0.label], $0.secondsSinceBeat) }
        )
    }

    private mutating func addHosts() {
        add(
            "host_items",
            "Items of a host by state.",
            status.hosts.flatMap { host in
                [
                    (["host": host.name, "state": "ready"], Double(host.ready)),
                    (["host": host.name, "state": "leased"], Double(host.leased)),
                ]
            }
        )
        add(
            "host_connections",
            "Connections that the leases of a host may use.",
            status.hosts.map {
                (["host": $0.name], Double($0.connections))
            }
        )
        add(
            "host_blocked_seconds",
            "Time until a host accepts requests again.",
            status.hosts.map {
                (["host": $0.name], $0.blockedSeconds)
            }
        )
        add("host_paused", "Whether a host is paused.", status.hosts.map { (["host": $0.name], $0.isPaused ? 1 : 0) })
    }

    private mutating func addFailures() {
        add("failed_items", "Failed items by kind.", status.failures.map { (["kind": $0.kind], Double($0.failed)) })
    }

    // MARK: Text

    /// Adds a gauge. A metric without samples is left out.
    private mutating func add(_ name: String, _ help: String, _ samples: [([String: String], Double)]) {
        guard !samples.isEmpty else { return }
        lines += ["# HELP haul_fleet_\(name) \(help)", "# TYPE haul_fleet_\(name) gauge"]
        lines += samples.map { "haul_fleet_\(name)\(Self.labels($0.0)) \(Self.number($0.1))" }
    }

    private mutating func add(_ name: String, _ help: String, counter: Double) {
        lines += ["# HELP haul_fleet_\(name) \(help)", "# TYPE haul_fleet_\(name) counter"]
        lines.append("haul_fleet_\(name) \(Self.number(counter))")
    }

    private static func labels(_ labels: [String: String]) -> String {
        guard !labels.isEmpty else { return "" }
        let parts = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }
        return "{\(parts.joined(separator: ","))}"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    private static func number(_ value: Double) -> String {
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if value.isNaN { return "NaN" }
        return value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}
