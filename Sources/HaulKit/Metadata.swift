internal import Foundation

/// What an application wants to keep with a download: any value that is `Codable`, stored as JSON.
///
/// ```swift
/// request.metadata = try Metadata(Episode(title: "Pilot", season: 1))
/// let episode = try download.snapshot.metadata?.decoded(as: Episode.self)
/// ```
public struct Metadata: Sendable, Hashable, Codable {
    /// The value as JSON text (RFC 8259).
    public let json: String

    /// Takes JSON as it is; text that is none is found out only by ``decoded(as:)``.
    public init(json: String) { self.json = json }

    /// - Throws: `EncodingError`.
    public init(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        // Equal values are equal texts.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        json = String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// - Throws: `DecodingError` when what is stored is another type's.
    public func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(json.utf8))
    }
}
