import Foundation
import HaulKit
import HaulServer

/// The screen of `haul watch`: totals, a line for each download, and keys.
struct WatchView {
    private(set) var selected = 0
    private var top = 0
    private var selectedID: String?
    /// Question or error that the last line shows in place of the list of keys.
    var message: String?
    var isAway = false

    private static let (reverse, bold, dim, plain) = ("\u{1B}[7m", "\u{1B}[1m", "\u{1B}[2m", "\u{1B}[0m")

    /// Keeps the selection on its download when rows come and go.
    mutating func follow(_ order: [String]) {
        if let selectedID, let index = order.firstIndex(of: selectedID) { selected = index }
        selected = max(0, min(selected, order.count - 1))
        selectedID = order.indices.contains(selected) ? order[selected] : nil
    }

    mutating func move(_ key: Key, _ order: [String], rows: Int) {
        let page = max(1, rows - 4)
        switch key {
        case .up, .character("k"): selected -= 1
        case .down, .character("j"): selected += 1
        case .pageUp: selected -= page
        case .pageDown: selected += page
        case .first, .character("g"): selected = 0
        case .last, .character("G"): selected = order.count - 1
        case .character: break
        }
        selected = max(0, min(selected, order.count - 1))
        selectedID = order.indices.contains(selected) ? order[selected] : nil
    }

    /// The download that keys act on.
    var id: String? { selectedID }

    /// - Returns: the lines of the screen, cut to `columns` cells, or to 20 if there are fewer columns.
    mutating func lines(_ model: WatchModel, columns: Int, rows: Int) -> [String] {
        follow(model.order)
        let (columns, room) = (max(20, columns), max(1, rows - 3))
        top = max(0, min(top, selected, model.order.count - room))
        if selected >= top + room { top = selected - room + 1 }
        var lines = [Self.bold + Format.fit(Self.head(model), columns) + Self.plain]
        for (index, id) in model.order.enumerated().dropFirst(top).prefix(room) {
            let line = model.row(id).map { Self.line($0, columns: columns) } ?? Format.fit(id, columns)
            lines.append(index == selected ? Self.reverse + Format.fit(line, columns) + Self.plain : line)
        }
        if model.order.isEmpty { lines.append(model.isWhole ? "There are no downloads." : "") }
        while lines.count < rows - 1 { lines.append("") }
        let keys = "↑↓ choose  space pause or resume  p pause  r resume  d remove  q quit"
        let away = isAway ? "The daemon does not answer. Trying again." : nil
        lines.append(Self.dim + Format.fit(VisibleText.line(message ?? away ?? keys), columns) + Self.plain)
        return Array(lines.prefix(rows))
    }

    private static func head(_ model: WatchModel) -> String {
        guard let totals = model.totals else { return "haul" }
        let counts = totals.counts
        var parts = ["\(counts.active) active", "\(counts.queued) queued"]
        if counts.paused > 0 { parts.append("\(counts.paused) paused") }
        if counts.failed > 0 { parts.append("\(counts.failed) failed") }
        parts.append("\(counts.completed) completed")
        var text = parts.joined(separator: ", ")
        if totals.bytesPerSecond > 0 { text += "  ·  \(Format.speed(Double(totals.bytesPerSecond)))" }
        if totals.bytesPerSecond > 0, let left = totals.secondsLeft {
            text += "  ·  \(Format.time(.seconds(left))) left"
        }
        if let free = totals.freeBytes { text += "  ·  \(Format.bytes(free)) free" }
        return text
    }

    static func line(_ row: DownloadRow, columns: Int) -> String {
        let front = row.id.short + "  "
        let width = columns - front.count
        let name = DownloadTable.name(row)
        if row.state == .transferring {
            let line = ProgressLine.line(
                name,
                row.totalBytes.map { $0 == 0 ? 0 : max(0, min(1, Double(row.receivedBytes) / Double($0))) },
                received: row.receivedBytes,
                total: row.totalBytes,
                isEstimate: row.stream != nil,
                speed: Double(row.bytesPerSecond),
                left: row.secondsLeft.map { .seconds($0) },
                columns: width
            )
            return front + line
        }
        if let error = row.error, row.state == .failed || row.state == .waiting {
            let text = VisibleText.line("\(row.state.rawValue): \(error.message)")
            return front + Format.fit(name, max(8, width / 2 - 2)) + "  "
                + Format.fit(text, width - max(8, width / 2 - 2) - 2)
        }
        let text = [DownloadTable.size(row), DownloadTable.state(row)].filter { !$0.isEmpty }.joined(separator: "  ")
        return front + ProgressLine.status(name, text, width)
    }
}
