/// A header field of a request (RFC 9110 §5): name and value as the user gave them.
///
/// Encoded with `***` as its value unless the encoder has ``Swift/CodingUserInfoKey/keepsSecrets``.
public struct HeaderField: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The field name; a token (RFC 9110 §5.1). `==` respects the case of names, although HTTP ignores the case.
    public let name: String
    /// The field value, without line breaks and control characters other than tab.
    public let value: String

    /// Makes a field from name and value.
    ///
    /// - Returns: `nil` when the name is not a token, or the value holds a line break or another control character,
    ///   which could inject further fields (RFC 9110 §5.1, §5.5).
    public init?(_ name: String, _ value: String) {
        let tokenSymbols = Set("!#$%&'*+-.^_`|~".utf8)
        let isToken =
            !name.isEmpty
            && name.utf8.allSatisfy {
                tokenSymbols.contains($0) || (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
            }
        let isClean = value.utf8.allSatisfy { $0 == 9 || ($0 >= 32 && $0 != 127) }
        guard isToken, isClean else { return nil }
        self.name = name
        self.value = value
    }

    /// The name with a masked value: a field that is interpolated into a log must not reveal a token.
    public var description: String { "\(name): ***" }

    /// Reads the form `Name: value`. Blanks before the value do not count.
    ///
    /// - Returns: `nil` when there is no colon, or when ``init(_:_:)`` refuses name or value.
    package init?(_ line: String) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let value = parts[1].drop { $0 == " " || $0 == "\t" }
        self.init(String(parts[0]), String(value))
    }
}

extension HeaderField: CodedByKeys {
    package enum Keys: String, CodingKey { case name, value }

    /// - Throws: `DecodingError`, also for a name or a value that ``init(_:_:)`` refuses.
    package init(values: KeyedDecodingContainer<Keys>) throws {
        let name = try values.decode(String.self, forKey: .name)
        guard let field = HeaderField(name, try values.decode(String.self, forKey: .value)) else {
            throw DecodingError.dataCorruptedError(forKey: .value, in: values, debugDescription: "no header field")
        }
        self = field
    }

    package func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws {
        try values.encode(name, forKey: .name)
        try values.encode(keepsSecrets ? value : "***", forKey: .value)
    }
}
