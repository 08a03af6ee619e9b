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
