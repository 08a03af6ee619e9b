import HaulKit

/// The lines that `--verbose` shows below the line of a file: its received parts, and the speed of each connection. For
/// a stream: its received segments and their duration.
enum SegmentMap {
    /// - Returns: an empty list while no bytes arrive.
    static func lines(_ snapshot: DownloadSnapshot, columns: Int) -> [String] {
        guard snapshot.state == .transferring, !snapshot.connections.isEmpty else { return [] }
        if let stream = snapshot.stream { return Self.lines(stream, columns: columns) }
        var lines: [String] = []
        if let total = snapshot.totalBytes, total > 0 {
            lines.append("  " + map(snapshot, total: total, cells: max(1, columns - 2)))
        }
        return lines + [Format.fit("  " + connections(snapshot), columns)]
    }

    private static func lines(_ stream: DownloadSnapshot.Stream, columns: Int) -> [String] {
        let received = Format.time(DownloadSnapshot.time(for: stream.receivedSeconds, at: 1))
        let all = Format.time(DownloadSnapshot.time(for: stream.seconds, at: 1))
        if stream.isLive { return [Format.fit("  \(Format.segments(stream)): \(received) recorded", columns)] }
        let cells = max(1, columns - 2)
        let share = stream.segments > 0 ? Double(stream.receivedSegments) / Double(stream.segments) : 0
        let full = min(cells, Int((share * Double(cells)).rounded(.down)))
        let map = String(repeating: "█", count: full) + String(repeating: "░", count: cells - full)
        return ["  " + map, Format.fit("  \(Format.segments(stream)): \(received) of \(all)", columns)]
    }

    /// Divides the file into at most `cells` equal parts, and returns a character for each: `█` received, `▒` received
    /// in part, `▓` being received, `░` missing.
    private static func map(_ snapshot: DownloadSnapshot, total: Int64, cells: Int) -> String {
        let cells = Int(min(Int64(cells), total))
        let length = Double(total) / Double(cells)
        var here = [Double](repeating: 0, count: cells)
        for stretch in snapshot.receivedRanges {
            let (lower, upper) = (Double(stretch.lowerBound) / length, Double(stretch.upperBound) / length)
            let first = min(cells - 1, Int(lower))
            for cell in first...max(first, min(cells - 1, Int(upper.rounded(.up)) - 1)) {
                here[cell] += max(0, min(upper, Double(cell + 1)) - max(lower, Double(cell)))
            }
        }
        let busy = Set(snapshot.connections.map { min(cells - 1, Int(Double($0.remainingRange.lowerBound) / length)) })
        return String(
            here.enumerated().map { cell, share in
                if share > 0.999 { return "█" as Character }
                return busy.contains(cell) ? "▓" : share > 0 ? "▒" : "░"
            }
        )
    }

    /// Returns `3 connections: 12.0 MB/s, 11.9 MB/s, 400 kB/s`, grouped by host if there are several hosts.
    private static func connections(_ snapshot: DownloadSnapshot) -> String {
        let hosts = snapshot.connections.reduce(into: [String]()) { if !$0.contains($1.host) { $0.append($1.host) } }
        let parts = hosts.map { host in
            let speeds = snapshot.connections.filter { $0.host == host }.map { Format.speed($0.bytesPerSecond) }
            return (hosts.count > 1 ? host + ": " : "") + speeds.joined(separator: ", ")
        }
        let count = snapshot.connections.count
        return (count == 1 ? "1 connection: " : "\(count) connections: ") + parts.joined(separator: " · ")
    }
}
