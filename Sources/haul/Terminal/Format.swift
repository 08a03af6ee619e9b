import Foundation
import HaulKit

/// Formats numbers and names for people.
enum Format {
    /// Formats a number of bytes as `48.3 MB`; see `QuantityText`.
    static func bytes(_ count: Int64) -> String { QuantityText.bytes(count) }

    /// `1.20/2.80 GB`: both numbers in the unit of `total`.
    ///
    /// - Parameter isEstimate: whether `total` is an estimate: `1.20/~2.80 GB`.
    static func bytes(_ count: Int64, of total: Int64, isEstimate: Bool = false) -> String {
        let text = QuantityText.bytes(count, of: total)
        return isEstimate ? text.replacingOccurrences(of: "/", with: "/~") : text
    }

    /// `segment 120/300`; while a stream is recorded live, `segment 120, live`.
    static func segments(_ stream: DownloadSnapshot.Stream) -> String {
        let count = "\(stream.receivedSegments)"
        if stream.isLive { return "segment \(count), live" }
        let all = "\(stream.segments)"
        return "segment " + String(repeating: " ", count: max(0, all.count - count.count)) + count + "/" + all
    }

    static func speed(_ bytesPerSecond: Double) -> String { QuantityText.speed(bytesPerSecond) }

    /// Formats a time as `0:34`, `12:05`, `3:07:12` or `4d 7h`.
    static func time(_ duration: Duration) -> String { QuantityText.time(duration) }

    /// Formats an elapsed time: `0.3 s` below 10 s, else as ``time(_:)``.
    static func elapsed(_ duration: Duration) -> String {
        let seconds = max(duration / .seconds(1), 0)
        return seconds < 9.95 ? String(format: "%.1f s", seconds) : time(duration)
    }

    static func waiting(_ snapshot: DownloadSnapshot) -> String {
        let wait = snapshot.retryDelay.map { "Trying again in \(time($0))." } ?? "Trying again."
        return snapshot.error.map { "\($0.message) \(wait)" } ?? wait
    }

    /// Returns a sentence for the reason that holds a download, or `nil` if the download is not held.
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
        if completed.alreadyExisted {
            return "\(completed.path) was there already (\(bytes(completed.bytes)))" + gaps(completed)
        }
        var line = "\(completed.path): \(bytes(completed.bytes))"
        if let start {
            let duration = ContinuousClock.now - start
            let seconds = max(duration / .seconds(1), 0.001)
            line += " in \(elapsed(duration))"
            // Leaves out the speed if there were more bytes before the transfer than the file has, because the speed
            // would be negative: the stream log of a film can be longer than the film.
            if completed.bytes >= from { line += ", \(speed(Double(completed.bytes - from) / seconds))" }
        }
        switch completed.proof {
        case .digest: line += ", digest right"
        case .length: break
        case .none: line += ", unverified: the server gave no length"
        }
        return line + gaps(completed)
    }

    /// Returns the gaps of a film, for the end of its line.
    private static func gaps(_ completed: CompletedDownload) -> String {
        guard !completed.gaps.isEmpty else { return "" }
        let gaps = completed.gaps.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
        return ", with gaps: " + gaps.joined(separator: "; ")
    }

    /// Returns the number of terminal cells that a text takes: two for each wide East Asian character or emoji, none
    /// for a nonspacing mark.
    static func width(_ text: String) -> Int {
        text.reduce(0) { $0 + width($1) }
    }

    /// Cuts or fills a text to exactly `cells` cells; `…` marks a cut.
    static func fit(_ text: String, _ cells: Int) -> String {
        let width = width(text)
        if width <= cells { return text + String(repeating: " ", count: cells - width) }
        guard cells > 1 else { return String(repeating: ".", count: max(cells, 0)) }
        // Keeps both ends, because the end of a name tells more than its middle.
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
