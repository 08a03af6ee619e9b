internal import Foundation

/// Encoded as decimal seconds, for example `12.034`, exact to the attosecond.
extension Instant: Codable {
    private static let attosecondDigits = 18
    /// Largest number of seconds: 30,000 years. With larger ones the machine's sums could overflow.
    private static let mostSeconds: Int64 = 1_000_000_000_000

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let instant = Self(text: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a number of seconds")
        }
        self = instant
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    private var text: String {
        let (seconds, attoseconds) = sinceStart.components
        let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
        var fraction = String(attoseconds.magnitude)
        fraction = String(repeating: "0", count: Self.attosecondDigits - fraction.count) + fraction
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return sign + String(seconds.magnitude) + (fraction.isEmpty ? "" : "." + fraction)
    }

    private init?(text: String) {
        let isNegative = text.hasPrefix("-")
        let parts = text.dropFirst(isNegative ? 1 : 0).split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let seconds = Self.digits(parts[0]), seconds <= Self.mostSeconds else {
            return nil
        }
        var attoseconds: Int64 = 0
        if parts.count == 2 {
            let zeros = Self.attosecondDigits - parts[1].utf8.count
            guard zeros >= 0, !parts[1].isEmpty,
                let value = Self.digits(parts[1] + String(repeating: "0", count: zeros))
            else { return nil }
            attoseconds = value
        }
        let duration = Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
        self.init(sinceStart: isNegative ? .zero - duration : duration)
    }

    private static func digits(_ text: Substring) -> Int64? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}

extension KeyedDecodingContainer {
    /// Decodes ``ByteSet/text`` and throws on any other text. ``ByteSet/init(text:)`` ignores invalid ranges instead.
    fileprivate func decodeByteSet(forKey key: Key) throws -> ByteSet {
        let text = try decode(String.self, forKey: key)
        let bytes = ByteSet(text: text)
        guard bytes.text == text else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not ranges in order")
        }
        return bytes
    }
}

extension PersistedRanges: Codable {
    private enum CodingKeys: String, CodingKey { case written, synced }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            written: try container.decodeByteSet(forKey: .written),
            synced: try container.decodeByteSet(forKey: .synced)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(written.text, forKey: .written)
        try container.encode(synced.text, forKey: .synced)
    }
}

extension ComparisonPlan: Codable {
    private enum CodingKeys: String, CodingKey { case bytes, tail, count, seed }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            bytes: try container.decodeByteSet(forKey: .bytes),
            tail: try container.decode(Range<Int64>.self, forKey: .tail),
            count: try container.decode(Int.self, forKey: .count),
            seed: try container.decode(UInt64.self, forKey: .seed)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(bytes.text, forKey: .bytes)
        try container.encode(tail, forKey: .tail)
        try container.encode(count, forKey: .count)
        try container.encode(seed, forKey: .seed)
    }

    private init(bytes: ByteSet, tail: Range<Int64>, count: Int, seed: UInt64) {
        self.bytes = bytes
        self.tail = tail
        self.count = count
        self.seed = seed
    }
}

extension ResponseHead: Codable {
    private enum CodingKeys: String, CodingKey { case status, headers, url, requested, credentials, isStreamLog }

    /// A header field, in the order of the response.
    private struct Field: Codable {
        var name: String
        var value: String
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let fields = try container.decode([Field].self, forKey: .headers)
        self.init(
            status: try container.decode(Int.self, forKey: .status),
            headers: HeaderFields(fields.map { ($0.name, $0.value) }),
            url: try container.decode(URL.self, forKey: .url),
            requested: try container.decode(URL.self, forKey: .requested),
            credentials: try container.decodeIfPresent(CredentialSource.self, forKey: .credentials)
        )
        isStreamLog = try container.decodeIfPresent(Bool.self, forKey: .isStreamLog) ?? false
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(status, forKey: .status)
        try container.encode(headers.lines.map { Field(name: $0.name, value: $0.value) }, forKey: .headers)
        try container.encode(url, forKey: .url)
        try container.encode(requested, forKey: .requested)
        try container.encodeIfPresent(credentials, forKey: .credentials)
        if isStreamLog { try container.encode(true, forKey: .isStreamLog) }
    }
}
