import Foundation
import HaulKit

/// Numbers and names as people read them.
enum Format {
    /// Three significant digits and a decimal unit: `0 B`, `999 B`, `1.00 kB`, `48.3 MB`.
    static func bytes(_ count: Int64) -> String {
        let (number, unit) = scaled(Double(count))
        return "\(number) \(unit)"
    }

    /// `1.20/2.80 GB`: both in the unit of the second.
    static func bytes(_ count: Int64, of total: Int64) -> String {
        let (number, unit) = scaled(Double(total))
        guard let scale = units.first(where: { $0.name == unit })?.scale else { return bytes(count) }
        return "\(digits(Double(count) / scale, isWhole: scale == 1))/\(number) \(unit)"
    }

    static func speed(_ bytesPerSecond: Double) -> String {
        bytes(Int64(bytesPerSecond)) + "/s"
    }

    /// `0:34`, `12:05`, `3:07:12`, `4d 7h`.
    static func time(_ duration: Duration) -> String {
        let seconds = Int(min(max(duration / .seconds(1), 0), 1e9).rounded(.up))
        let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60)
        if days > 0 { return "\(days)d \(hours)h" }
        if hours > 0 { return "\(hours):\(two(minutes)):\(two(seconds % 60))" }
        return "\(minutes):\(two(seconds % 60))"
    }

    /// How long something took: `0.3 s`, then as ``time(_:)``.
    static func elapsed(_ duration: Duration) -> String {
        let seconds = max(duration / .seconds(1), 0)
        return seconds < 9.95 ? String(format: "%.1f s", seconds) : time(duration)
    }

    static func waiting(_ snapshot: DownloadSnapshot) -> String {
        let wait = snapshot.retryDelay.map { "Trying again in \(time($0))." } ?? "Trying again."
        return snapshot.error.map { "\($0.message) \(wait)" } ?? wait
    }

    /// Why a download that nobody paused is paused; nil for any other.
    static func held(_ snapshot: DownloadSnapshot) -> String? {
        guard snapshot.state == .paused, let reason = snapshot.holdReason else { return nil }
        if let error = snapshot.error { return error.message }
        return switch reason {
        case .diskFull, .quota: "Waiting for room on the disk."
        case .offline: "Waiting for the network."
        case .metered: "Waiting for a network that is not metered."
        case .outsideHours: "Waiting for the hours in which downloads may run."
        }
    }

    static func completed(_ completed: CompletedDownload, since start: ContinuousClock.Instant?, from: Int64) -> String
    {
        if completed.alreadyExisted { return "\(completed.path) was there already (\(bytes(completed.bytes)))" }
        var line = "\(completed.path): \(bytes(completed.bytes))"
        if let start {
            let duration = ContinuousClock.now - start
            let seconds = max(duration / .seconds(1), 0.001)
            line += " in \(elapsed(duration)), \(speed(Double(completed.bytes - from) / seconds))"
        }
        switch completed.proof {
        case .digest: return line + ", digest right"
        case .length: return line
        case .none: return line + ", unverified: the server gave no length"
        }
    }

    /// Cells that a text takes in a terminal: two for wide East Asian characters and emoji, none for marks.
    static func width(_ text: String) -> Int {
        text.reduce(0) { $0 + width($1) }
    }

    /// The text cut or filled to exactly `cells`; a cut shows as `…`.
    static func fit(_ text: String, _ cells: Int) -> String {
        let width = width(text)
        if width <= cells { return text + String(repeating: " ", count: cells - width) }
        guard cells > 1 else { return String(repeating: ".", count: max(cells, 0)) }
        // The end of a name tells more than its middle: keep both ends.
        let tail = max((cells - 1) / 3, 0)
        var front = ""
        var back = ""
        var used = 0
        for character in text {
            let next = Self.width(character)
            if used + next > cells - 1 - tail { break }
            front.append(character)
            used += next
        }
        var left = cells - 1 - used
        for character in text.reversed() {
            let next = Self.width(character)
            if next > left { break }
            back.insert(character, at: back.startIndex)
            left -= next
        }
        return front + "…" + back + String(repeating: " ", count: left)
    }

    private static let units: [(name: String, scale: Double)] = [
        ("B", 1), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15), ("EB", 1e18),
    ]

    private static func scaled(_ value: Double) -> (String, String) {
        // 999.5 of a unit would print as 1000: it belongs to the next one.
        let unit = units.first { value < $0.scale * 999.5 } ?? units[units.count - 1]
        return (digits(value / unit.scale, isWhole: unit.scale == 1), unit.name)
    }

    private static func digits(_ value: Double, isWhole: Bool) -> String {
        if isWhole { return String(Int(value)) }
        let places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        return String(format: "%.\(places)f", value)
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.properties.isEmojiPresentation { return 2 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default:
            return scalar.properties.generalCategory == .nonspacingMark ? 0 : 1
        }
    }
}
