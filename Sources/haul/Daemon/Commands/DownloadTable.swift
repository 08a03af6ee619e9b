import Foundation
import HaulKit
import HaulServer

/// Formats rows of downloads as lines of text.
struct DownloadTable {
    /// Width of the terminal; `nil` if lines may be of any length.
    let columns: Int?

    private static let (stateWidth, sizeWidth, speedWidth) = (12, 16, 10)

    var head: String { line("ID", "STATE", "SIZE", "SPEED", "NAME") }

    func line(_ row: DownloadRow) -> String {
        line(row.id.short, Self.state(row), Self.size(row), Self.speed(row), Self.name(row))
    }

    private func line(_ id: String, _ state: String, _ size: String, _ speed: String, _ name: String) -> String {
        let front =
            Format.fit(id, 8) + "  " + Format.fit(state, Self.stateWidth) + "  " + Self.right(size, Self.sizeWidth)
            + "  "
            + Self.right(speed, Self.speedWidth) + "  "
        guard let columns else { return front + name }
        return front + Self.cut(name, max(8, columns - Format.width(front)))
    }

    /// Returns the name, or the URL if there is no name. Replaces characters that a terminal would obey.
    static func name(_ row: DownloadRow) -> String { VisibleText.line(row.name.isEmpty ? row.url : row.name) }

    /// Returns `43% of 200 MB` until the download is complete, then the size. While the size is unknown, returns the
    /// number of received bytes.
    static func size(_ row: DownloadRow) -> String {
        guard row.state != .completed else { return Format.bytes(row.totalBytes ?? row.receivedBytes) }
        guard let total = row.totalBytes else { return row.receivedBytes > 0 ? Format.bytes(row.receivedBytes) : "" }
        // The length of a film is an estimate.
        return "\(percent(row) ?? 0)% of \(row.stream == nil ? "" : "~")\(Format.bytes(total))"
    }

    static func percent(_ row: DownloadRow) -> Int? {
        guard let total = row.totalBytes else { return nil }
        return total > 0 ? Int(max(0, min(100, Double(row.receivedBytes) / Double(total) * 100))) : 100
    }

    static func speed(_ row: DownloadRow) -> String {
        row.state == .transferring ? Format.speed(Double(row.bytesPerSecond)) : ""
    }

    /// Returns the state, or for a held download the reason, in one or two words.
    static func state(_ row: DownloadRow) -> String {
        guard let reason = row.holdReason else { return row.state.rawValue }
        return switch reason {
        case .offline: "offline"
        case .metered: "metered"
        case .outsideHours: "off hours"
        case .diskFull: "disk full"
        case .quota: "quota"
        }
    }

    static func right(_ text: String, _ cells: Int) -> String {
        String(repeating: " ", count: max(0, cells - Format.width(text))) + text
    }

    private static func cut(_ text: String, _ cells: Int) -> String {
        Format.width(text) <= cells ? text : Format.fit(text, cells)
    }
}
