import Foundation
import HaulAria2
import HaulKit
import HaulServer

/// Formats the texts of aria2's console.
struct Aria2Readout: Sendable {
    /// Whether numbers of bytes are abbreviated: aria2's option `--human-readable`.
    let isHumanReadable: Bool

    /// A running download.
    struct Row: Sendable, Equatable {
        var gid: GID
        var received: Int64 = 0
        var total: Int64?
        var connections = 0
        var speed: Double = 0
        var path: String?
        var uri = ""
        var isVerifying = false
    }

    func bytes(_ count: Int64) -> String { (isHumanReadable ? Self.abbreviated(count) : "\(count)") + "B" }

    /// Formats a number as `1.2Mi`, with one decimal below ten of `Ki`, `Mi` or `Gi`. From 922 of a unit on, writes the
    /// number in the next unit: `0.9Mi`.
    static func abbreviated(_ count: Int64) -> String {
        let units = ["", "Ki", "Mi", "Gi"]
        var (whole, rest, unit) = (max(0, count), Int64(0), 0)
        while whole >= 1024, unit + 1 < units.count {
            (whole, rest) = whole.quotientAndRemainder(dividingBy: 1024)
            unit += 1
        }
        if whole >= 922, unit + 1 < units.count { (whole, rest, unit) = (0, whole, unit + 1) }
        let decimal = whole < 10 && unit > 0 ? ".\(rest * 10 / 1024)" : ""
        return "\(whole)\(decimal)\(units[unit])"
    }

    /// Formats a time as `1h2m3s`.
    static func time(_ seconds: Int64) -> String {
        let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60)
        return (hours > 0 ? "\(hours)h" : "") + (minutes > 0 ? "\(minutes)m" : "")
            + (seconds % 60 > 0 || seconds < 60 ? "\(seconds % 60)s" : "")
    }

    /// Formats a download as `[#gid 1.2MiB/10MiB(12%) CN:5 DL:1.1MiB ETA:8s]`.
    func line(_ row: Row) -> String {
        var text = "[#\(row.gid.abbreviated) \(bytes(row.received))/\(bytes(row.total ?? 0))"
        if let total = row.total, total > 0 { text += "(\(Self.percent(row.received, of: total))%)" }
        text += " CN:\(row.connections)"
        let speed = Int64(clamping: Int(max(0, min(row.speed, 1e15))))
        text += " DL:\(bytes(speed))"
        if let total = row.total, speed > 0, total > row.received {
            text += " ETA:\(Self.time((total - row.received) / speed))"
        }
        return text + (row.isVerifying ? " Checksum]" : "]")
    }

    static func percent(_ received: Int64, of total: Int64) -> Int {
        total > 0 ? Int(max(0, min(100, Double(received) / Double(total) * 100))) : 0
    }

    /// Returns the line of one download. For several downloads, returns their total speed, and short texts about at
    /// most five of them, as aria2 does.
    func lines(_ rows: [Row]) -> String {
        guard let first = rows.first else { return "" }
        if rows.count == 1 { return line(first) }
        let speed = Int64(clamping: Int(max(0, min(rows.reduce(0) { $0 + $1.speed }, 1e15))))
        let shown = rows.prefix(5).map { row in
            let percent = row.total.map { $0 > 0 ? "(\(Self.percent(row.received, of: $0))%)" : "" } ?? ""
            return "[#\(row.gid.abbreviated) \(bytes(row.received))/\(bytes(row.total ?? 0))\(percent)]"
        }
        return "[DL:\(bytes(speed))]" + shown.joined() + (rows.count > 5 ? "(+\(rows.count - 5))" : "")
    }

    /// Returns the text that is printed at each `--summary-interval`.
    func summary(_ rows: [Row], at time: String) -> String {
        let rule = String(repeating: "=", count: 79)
        var text = " *** Download Progress Summary as of \(time) *** \n\(rule)\n"
        for row in rows {
            text += "\(line(row))\nFILE: \(row.path ?? row.uri)\n\(String(repeating: "-", count: 79))\n"
        }
        return text + "\n"
    }
}
