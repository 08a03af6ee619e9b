/// A value that is encoded by keys, but not as the compiler would encode it: some values are hidden, changed, left out
/// or checked.
package protocol CodedByKeys: Codable {
    associatedtype Keys: CodingKey

    /// Decodes what ``write(to:keepsSecrets:)`` wrote.
    ///
    /// - Throws: `DecodingError`.
    init(values: KeyedDecodingContainer<Keys>) throws

    /// - Parameter keepsSecrets: whether passwords and tokens are encoded.
    /// - Throws: `EncodingError`.
    func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws
}

extension CodedByKeys {
    /// Decodes what ``encode(to:)`` wrote.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        try self.init(values: try decoder.container(keyedBy: Keys.self))
    }

    /// Encodes the value without passwords and tokens, unless the encoder has
    /// ``Swift/CodingUserInfoKey/keepsSecrets``.
    ///
    /// - Throws: `EncodingError`.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Keys.self)
        try write(to: &values, keepsSecrets: encoder.keepsSecrets)
    }
}

/// A value that is encoded as its description.
package protocol CodedAsText: Codable, CustomStringConvertible {
    /// Returns the text that was encoded in place of the value. The default implementation decodes a single string.
    static func text(from decoder: any Decoder) throws -> String

    /// - Throws: an error if the text describes no value.
    init(text: String, from decoder: any Decoder) throws
}

extension CodedAsText {
    package static func text(from decoder: any Decoder) throws -> String {
        try decoder.singleValueContainer().decode(String.self)
    }

    /// Decodes what ``encode(to:)`` wrote.
    ///
    /// - Throws: `DecodingError` if there is no text, or the error of a text that describes no value.
    public init(from decoder: any Decoder) throws {
        try self.init(text: try Self.text(from: decoder), from: decoder)
    }

    /// Encodes the description.
    ///
    /// - Throws: `EncodingError`.
    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(description)
    }
}
