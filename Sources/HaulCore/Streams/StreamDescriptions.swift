internal import Foundation

extension StreamVariant: CustomStringConvertible {
    /// One line for people: `1280x720, 4.10 Mbit/s, avc1.64001f, mp4a.40.2`.
    package var description: String {
        var parts: [String] = []
        if let resolution { parts.append("\(resolution.width)x\(resolution.height)") }
        if let frameRate, frameRate > 0, frameRate < 10_000 { parts.append("\(Self.short(frameRate)) fps") }
        if let rate = averageBandwidth ?? (bandwidth > 0 ? bandwidth : nil) { parts.append(Self.rate(rate)) }
        if let videoRange, videoRange != .sdr { parts.append(videoRange.rawValue) }
        parts += codecs.prefix(8).map { String($0.prefix(40)) }
        if hasUnknownDemands { parts.append("with demands on the player that Haul does not know") }
        return VisibleText.line(parts.isEmpty ? "variant \(number)" : parts.joined(separator: ", "))
    }

    /// Formats bits per second: `800 kbit/s`, `4.10 Mbit/s`.
    static func rate(_ bits: Int64) -> String {
        QuantityText.bytes(bits).replacingOccurrences(of: "B", with: "bit/s")
    }

    private static func short(_ number: Double) -> String {
        let text = String(format: "%.2f", number)
        return text.hasSuffix(".00") ? String(text.dropLast(3)) : text
    }
}

extension StreamRendition: CustomStringConvertible {
    /// A name for people: `English (en)`.
    package var description: String {
        let shown = name.isEmpty ? "unnamed" : String(name.prefix(80))
        let tag = language.map { $0 == name ? "" : " (\($0.prefix(40)))" } ?? ""
        return VisibleText.line(shown + tag + (isForced ? ", forced" : ""))
    }
}
