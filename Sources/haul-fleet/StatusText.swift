import Foundation
import HaulFleet
import HaulKit

/// Formats a status for people.
struct StatusText {
    let status: FleetStatus

    init(_ status: FleetStatus) { self.status = status }

    var text: String {
        ([destination, totals] + alarms + section("Workers", workers) + section("Hosts", hosts)
            + section("Failures", failures)).map { FleetOutput.plain($0) }.joined(separator: "\n")
    }

    private var destination: String {
        let settings = status.settings
        let state = settings.isPaused ? "paused, " : settings.isDraining ? "draining, " : ""
        return "\(state)to \(settings.destination ?? "no destination yet")"
    }

    private var totals: String {
        let totals = status.totals
        var parts = [
            "\(totals.completed) completed (\(QuantityText.bytes(totals.bytes)))", "\(totals.failed) failed",
            "\(totals.leased) with workers",
        ]
        let waiting = totals.ready.addingClamped(totals.unfed)
        parts.append("\(totals.isEstimate ? "about " : "")\(waiting) waiting")
        if totals.later > 0 { parts.append("\(totals.later) to be tried again") }
        if totals.cancelled > 0 { parts.append("\(totals.cancelled) cancelled") }
        let rate =
            String(format: "%.1f files/s, ", status.rate.itemsPerSecond)
            + QuantityText.speed(status.rate.bytesPerSecond)
        return "\(parts.joined(separator: ", ")) of \(totals.items); \(rate) in the last minute"
    }

    private var alarms: [String] {
        guard let transaction = status.oldestTransaction, transaction.isAlarming else { return [] }
        return [
            "Attention: a transaction of \(transaction.holder) is open for \(Self.whole(transaction.seconds)) s."
                + " Vacuum cannot remove what has ended since, and claims become slower."
        ]
    }

    /// Returns whole seconds. Limits them to ±9e15, because the database may answer any finite number.
    private static func whole(_ seconds: Double) -> Int64 { Int64(min(max(seconds, -9e15), 9e15)) }

    private func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : ["", "\(title):"] + lines.map { "  " + $0 }
    }

    private var workers: [String] {
        status.workers.map { worker in
            let silence = Self.whole(worker.secondsSinceBeat)
            return "\(worker.label)  \(worker.state), \(worker.heldItems) held, heard of \(silence) s ago"
        }
    }

    private var hosts: [String] { status.hosts.map(Self.line) }

    static func line(_ host: FleetStatus.Host) -> String {
        var parts = ["\(host.ready) waiting", "\(host.leased) with workers"]
        if let limit = host.maxConnections { parts.append("\(host.connections) of \(limit) connections") }
        if host.gapMilliseconds > 0 { parts.append("\(host.gapMilliseconds) ms between requests") }
        if host.isPaused { parts.append("paused") }
        if host.blockedSeconds > 0 {
            parts.append("asked to be left alone for \(Self.whole(host.blockedSeconds)) s")
        }
        return "\(host.name)  \(parts.joined(separator: ", "))"
    }

    private var failures: [String] {
        status.failures.map { failure in
            "\(failure.kind)  \(failure.failed) failed, \(failure.retried) tried again; item \(failure.exampleItem): "
                + failure.exampleMessage
        }
    }
}

/// Formats JSON for programs.
enum JSONText {
    static func text(_ value: some Encodable, isPretty: Bool = false) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = isPretty ? [.prettyPrinted, .sortedKeys] : [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
