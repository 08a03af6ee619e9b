import Foundation
import HaulAria2
import HaulKit
import HaulServer

/// The results of downloads: aria2's table, and its exit status.
struct Aria2Results: Sendable {
    struct Row: Sendable, Equatable {
        enum Status: Sendable, Equatable {
            case complete
            case failed(Aria2ErrorCode)
            /// The process ended before the download did.
            case unfinished
            case removed
        }

        var gid: GID
        var status: Status
        /// Average bytes per second; `nil` if the transfer never began.
        var speed: Int64?
        var received: Int64 = 0
        var total: Int64?
        /// The path, or the URI if the name is unknown.
        var place: String
    }

    private(set) var rows: [Row] = []
    /// Number of rows to keep: `--max-download-result`.
    private let most: Int
    /// Whether any download was left unfinished, even if its row has been dropped.
    private var hasUnfinished = false
    /// The last failure among the dropped rows.
    private var droppedFailure: Aria2ErrorCode?

    init(most: Int = .max) { self.most = max(0, most) }

    mutating func add(_ row: Row) {
        rows.append(row)
        if row.status == .unfinished { hasUnfinished = true }
        // Drops many rows at once, so that each row is moved about once.
        if rows.count / 2 > most { drop(rows.count - most) }
    }

    private mutating func drop(_ count: Int) {
        droppedFailure = Self.lastFailure(rows.prefix(count)) ?? droppedFailure
        rows.removeFirst(count)
    }

    /// Removes the result that a client has removed, or all results for `nil`. As in aria2, removed results do not
    /// count for the status.
    mutating func forget(_ gid: GID?) {
        rows.removeAll { $0.status != .unfinished && (gid == nil || $0.gid == gid) }
    }

    private static func lastFailure(_ rows: ArraySlice<Row>) -> Aria2ErrorCode? {
        for row in rows.reversed() {
            if case .failed(let status) = row.status { return status }
        }
        return nil
    }

    /// The last failure, else 7 if downloads were left unfinished, else 0.
    var status: Aria2ErrorCode {
        if let lastFailure = Self.lastFailure(rows[...]) ?? droppedFailure { return lastFailure }
        return hasUnfinished ? .unfinished : .complete
    }

    private static let legend: [(mark: String, text: String)] = [
        ("OK", "download completed."), ("ERR", "error occurred."), ("INPR", "download in-progress."),
        ("RM", "download removed."),
    ]

    private static func mark(_ status: Row.Status) -> String {
        switch status {
        case .complete: "OK"
        case .failed: "ERR"
        case .unfinished: "INPR"
        case .removed: "RM"
        }
    }

    private static let colours = [
        "OK": "\u{1B}[1;32m", "ERR": "\u{1B}[1;31m", "INPR": "\u{1B}[1;34m", "RM": "\u{1B}[1m",
    ]

    /// Returns the table that is printed at the end; empty without downloads.
    ///
    /// - Parameter form: the value of `--download-result`: `default`, `full` or `hide`.
    func table(form: String, _ readout: Aria2Readout, isColoured: Bool) -> String {
        guard form != "hide", most > 0, !rows.isEmpty else { return "" }
        let isFull = form == "full"
        let percentHead = isFull ? "  %|" : ""
        let rule = "======+====+===========+" + (isFull ? "===+" : "")
        var text = "\nDownload Results:\ngid   |stat|avg speed  |\(percentHead)path/URI\n"
        text += rule + String(repeating: "=", count: 79 - rule.count) + "\n"
        for row in rows.suffix(most) { text += line(row, isFull, readout, isColoured) + "\n" }
        let present = Set(rows.map { Self.mark($0.status) })
        text += "\nStatus Legend:\n"
        text += Self.legend.filter { present.contains($0.mark) }.map { "(\($0.mark)):\($0.text)" }.joined() + "\n"
        if !present.isSubset(of: ["OK", "RM"]) {
            text += "\nThe same command again resumes what is not complete.\n"
        }
        return text
    }

    private func line(_ row: Row, _ isFull: Bool, _ readout: Aria2Readout, _ isColoured: Bool) -> String {
        let mark = Self.mark(row.status)
        let padded = mark + String(repeating: " ", count: 4 - mark.count)
        let status = isColoured ? "\(Self.colours[mark] ?? "")\(mark)\u{1B}[0m\(padded.dropFirst(mark.count))" : padded
        let speed = row.speed.map { readout.bytes($0) + "/s" } ?? "n/a"
        var text = "\(row.gid.abbreviated)|\(status)|\(Self.right(speed, 11))|"
        if isFull {
            let percent = row.total.map { "\(Aria2Readout.percent(row.received, of: $0))" } ?? "-"
            text += Self.right(percent, 3) + "|"
        }
        return text + VisibleText.line(row.place)
    }

    private static func right(_ text: String, _ columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - text.count)) + text
    }
}
