internal import Foundation

extension DownloadRequest {
    /// The application's own data of a download: any `Codable` value, stored as JSON.
    ///
    /// ```swift
    /// request.metadata = try DownloadRequest.Metadata(Episode(title: "Pilot", season: 1))
    /// let episode = try download.snapshot.metadata?.decoded(as: Episode.self)
    /// ```
    public struct Metadata: Sendable, Hashable, Codable {
        /// The value as JSON text (RFC 8259).
        package let json: String

        /// Stores a JSON text unchanged. The text is not checked: ``decoded(as:)`` throws for text that is not JSON.
        package init(json: String) { self.json = json }

        /// Encodes a value as JSON with sorted keys, so that equal values give equal texts.
        ///
        /// - Throws: `EncodingError`.
        public init(_ value: some Encodable) throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            json = String(decoding: try encoder.encode(value), as: UTF8.self)
        }

        /// Decodes the value.
        ///
        /// - Throws: `DecodingError` when the JSON does not have the form of `type`.
        public func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
            try JSONDecoder().decode(type, from: Data(json.utf8))
        }
    }
}
