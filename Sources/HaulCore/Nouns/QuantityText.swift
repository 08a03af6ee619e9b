/// Formats sizes, speeds and times for people.
package enum QuantityText {
    /// Three significant digits and a decimal unit: `0 B`, `999 B`, `1.00 kB`, `48.3 MB`.
    package static func bytes(_ count: Int64) -> String {
        let (number, unit) = scaled(Double(count))
        return "\(number) \(unit)"
    }

    /// `1.20/2.80 GB`: both numbers are in the unit of `total`.
    package static func bytes(_ count: Int64, of total: Int64) -> String {
        let (number, unit) = scaled(Double(total))
        guard let scale = units.first(where: { $0.name == unit })?.scale else { return bytes(count) }
        return "\(digits(Double(count) / scale, isWhole: scale == 1))/\(number) \(unit)"
    }

    package static func bytes(_ count: Int64, of total: Int64?) -> String {
        total.map { bytes(count, of: $0) } ?? bytes(count)
    }

    /// `48.3 MB/s`. A speed above the range of `Int64` is shown as the largest `Int64`; a speed below the range, and
    /// NaN, as 0.
    package static func speed(_ bytesPerSecond: Double) -> String {
        bytes(Int64(exactly: bytesPerSecond.rounded(.towardZero)) ?? (bytesPerSecond > 0 ? .max : 0)) + "/s"
    }

    /// `0:34`, `12:05`, `3:07:12`, `4d 7h`.
    package static func time(_ duration: Duration) -> String {
        let seconds = Int(min(max(duration / .seconds(1), 0), 1e9).rounded(.up))
        let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60)
        if days > 0 { return "\(days)d \(hours)h" }
        if hours > 0 { return "\(hours):\(two(minutes)):\(two(seconds % 60))" }
        return "\(minutes):\(two(seconds % 60))"
    }

    private static let units: [(name: String, scale: Double)] = [
        ("B", 1), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15), ("EB", 1e18),
    ]

    private static func scaled(_ value: Double) -> (String, String) {
        // 999.5 of a unit would print as 1000, so the value gets the next unit.
        let unit = units.first { value < $0.scale * 999.5 } ?? units[units.count - 1]
        return (digits(value / unit.scale, isWhole: unit.scale == 1), unit.name)
    }

    private static func digits(_ value: Double, isWhole: Bool) -> String {
        if isWhole { return String(Int(value)) }
        let fractions = value < 9.995 ? 100 : value < 99.95 ? 10 : 1
        let number = Int((value * Double(fractions)).rounded(.toNearestOrEven))
        guard fractions > 1 else { return String(number) }
        // `String(format:)` needs a locale, and searches all conformances of the binary four times.
        return "\(number / fractions).\(String(number % fractions + fractions).dropFirst())"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// Numbers as text for user interfaces: in English, with decimal units and three significant digits.
extension DownloadSnapshot {
    /// The received bytes and the complete length: `1.20/2.80 GB`, or `1.20 GB` while the length is unknown.
    public var receivedText: String { QuantityText.bytes(receivedBytes, of: totalBytes) }

    /// The speed: `48.3 MB/s`; `nil` unless bytes arrive.
    public var speedText: String? { bytesPerSecond > 0 ? QuantityText.speed(bytesPerSecond) : nil }

    /// The time left: `0:34`, `3:07:12`, `4d 7h`; `nil` while ``timeLeft`` is `nil`.
    public var timeLeftText: String? { timeLeft.map { QuantityText.time($0) } }
}

/// The same texts as those of a ``DownloadSnapshot``.
extension DownloadSummary {
    /// The received bytes and the sum of the lengths: `1.20/2.80 GB`, or `1.20 GB` while a length is unknown.
    public var receivedText: String {
        QuantityText.bytes(receivedBytes, of: unknownTotals == 0 && count > 0 ? knownTotalBytes : nil)
    }

    /// The speed: `48.3 MB/s`; `nil` unless bytes arrive.
    public var speedText: String? { bytesPerSecond > 0 ? QuantityText.speed(bytesPerSecond) : nil }

    /// The time left: `0:34`, `3:07:12`, `4d 7h`; `nil` while ``timeLeft`` is `nil`.
    public var timeLeftText: String? { timeLeft.map { QuantityText.time($0) } }
}
