import Foundation
import HaulKit

/// One line of the display, never wider than the terminal.
enum ProgressLine {
    /// Returns the line of a file: name, bar, percentage, size, speed, time left. Leaves out parts that do not fit, the
    /// name last.
    static func of(_ snapshot: DownloadSnapshot, columns: Int) -> String {
        let name = VisibleText.line(
            snapshot.path == nil && snapshot.suggestedName == nil ? snapshot.url.messageText : snapshot.name
        )
        switch snapshot.state {
        case .waiting:
            return Format.fit("\(name)  \(Format.waiting(snapshot))", columns)
        case .transferring:
            return line(
                name,
                snapshot.fraction,
                received: snapshot.receivedBytes,
                total: snapshot.totalBytes,
                isEstimate: snapshot.stream != nil,
                segments: snapshot.stream.map(Format.segments),
                speed: snapshot.bytesPerSecond,
                left: snapshot.timeLeft,
                columns: columns
            )
        case .verifying:
            return status(name, "verifying", columns)
        case .connecting:
            return status(name, "connecting", columns)
        case .queued:
            return status(name, "waiting for a slot", columns)
        case .paused:
            guard let reason = Format.held(snapshot) else { return status(name, "paused", columns) }
            return Format.fit("\(name)  \(reason)", columns)
        case .completed, .failed, .cancelled:
            return status(name, snapshot.state.rawValue, columns)
        }
    }

    /// Sums of files that have ended.
    struct Ended: Sendable {
        var count = 0
        var bytes: Int64 = 0

        mutating func add(_ snapshot: DownloadSnapshot) {
            count += 1
            if snapshot.state == .completed { bytes = ProgressLine.sum(bytes, snapshot.receivedBytes) }
        }
    }

    /// Returns the line for all files together. Leaves out the percentage while the size of a file is unknown or more
    /// files will be added.
    ///
    /// - Parameters:
    ///   - finished: number of files that have ended, including those of `ended`.
    ///   - expected: number of files in all, if more will be added.
    static func total(
        _ snapshots: [DownloadSnapshot],
        finished: Int,
        ended: Ended = Ended(),
        expected: Int = 0,
        columns: Int
    ) -> String {
        let count = max(expected, snapshots.count + ended.count)
        // Skips failed and cancelled files, because they receive nothing more, and their size may stay unknown forever.
        let counted = snapshots.filter { $0.state != .failed && $0.state != .cancelled }
        let received = counted.reduce(ended.bytes) { sum($0, $1.receivedBytes) }
        let totals = counted.map(\.totalBytes)
        let isKnown = !totals.contains(nil) && count == snapshots.count + ended.count
        let total = isKnown ? totals.reduce(ended.bytes) { sum($0, $1 ?? 0) } : nil
        let speed = snapshots.reduce(0) { $0 + $1.bytesPerSecond }
        let left = total.flatMap {
            speed > 0 ? DownloadSnapshot.time(for: Double($0) - Double(received), at: speed) : nil
        }
        return line(
            "\(finished)/\(count) files",
            total.map { $0 == 0 ? 0 : max(0, min(1, Double(received) / Double($0))) },
            received: received,
            total: total,
            isEstimate: counted.contains { $0.stream != nil },
            speed: speed,
            left: left,
            columns: columns
        )
    }

    /// Adds without overflow, because servers may announce lengths whose sum exceeds `Int64`.
    private static func sum(_ one: Int64, _ other: Int64) -> Int64 {
        let (sum, isTooLarge) = one.addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }

    /// Returns name, bar and numbers. Leaves out numbers that do not fit.
    ///
    /// - Parameters:
    ///   - isEstimate: whether `total` is an estimate, which `~` marks.
    ///   - segments: the segments of a stream, in words; `nil` for other files.
    static func line(
        _ name: String,
        _ fraction: Double?,
        received: Int64,
        total: Int64?,
        isEstimate: Bool = false,
        segments: String? = nil,
        speed: Double,
        left: Duration?,
        columns: Int
    ) -> String {
        let percent = fraction.map { "\(Int(($0 * 100).rounded(.down)))%" } ?? ""
        let size = total.map { Format.bytes(received, of: $0, isEstimate: isEstimate) } ?? Format.bytes(received)
        var numbers = [
            pad(percent, 4), pad(size, 15), pad(Format.speed(speed), 10), pad(left.map(Format.time) ?? "", 8),
        ]
        if let segments { numbers.insert(segments, at: 2) }
        // In a narrow window, drops the last number first, because the first one is needed most.
        var shown = numbers[...]
        while shown.count > 1, columns < 16 + width(shown) { shown = shown.dropLast() }
        let rest = columns - width(shown)
        guard rest >= 16 else { return Format.fit(name + " " + percent, columns) }
        let bar = min(30, max(0, rest - 26))
        let drawn = bar >= 8 ? "  " + Self.bar(fraction, bar) : ""
        let nameWidth = rest - (bar >= 8 ? bar + 2 : 0)
        return Format.fit(name, nameWidth) + drawn + shown.map { "  " + $0 }.joined()
    }

    private static func bar(_ fraction: Double?, _ cells: Int) -> String {
        guard let fraction else { return String(repeating: "·", count: cells) }
        let full = Int((fraction * Double(cells)).rounded(.down))
        return String(repeating: "━", count: full) + String(repeating: "─", count: cells - full)
    }

    /// Returns a name, and a text at the right edge.
    static func status(_ name: String, _ text: String, _ columns: Int) -> String {
        guard columns > text.count + 10 else { return Format.fit(name, columns) }
        return Format.fit(name, columns - text.count - 2) + "  " + text
    }

    private static func width(_ numbers: ArraySlice<String>) -> Int { numbers.reduce(0) { $0 + 2 + $1.count } }

    private static func pad(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
