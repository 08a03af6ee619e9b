internal import Foundation
internal import HTTPTypes
internal import HaulKit
package import Hummingbird
internal import NIOCore
internal import NIOFoundationCompat

/// The JSON object in the body of a request. Each field is asked for by name; a field that is not asked for is refused by its
/// name, so that a misspelled option is never ignored.
package struct JSONBody {
    private var fields: [String: JSONValue]
    private let place: String

    package init(_ fields: [String: JSONValue], place: String = "") { (self.fields, self.place) = (fields, place) }

    /// Reads the body of a request: at most `limit` bytes, `application/json`.
    package init(_ request: Request, limit: Int = 8 << 20) async throws {
        guard let type = request.headers[.contentType]?.split(separator: ";").first,
            type.trimmingCharacters(in: .whitespaces).lowercased() == "application/json"
        else { throw Problem(.unsupportedMediaType, "unsupportedMediaType", "The body must be application/json.") }
        let buffer: ByteBuffer
        do { buffer = try await request.body.collect(upTo: limit) } catch is NIOTooManyBytesError {
            throw Problem(.contentTooLarge, "contentTooLarge", "The body is larger than \(limit) bytes.")
        }
        do {
            guard case .object(let fields) = try JSONDecoder().decode(JSONValue.self, from: Data(buffer: buffer)) else {
                throw Problem.badRequest("The body must be a JSON object.")
            }
            self.init(fields)
        } catch is DecodingError { throw Problem.badRequest("The body is not JSON.") }
    }

    /// The field, decoded and taken out; nil where it is missing or null.
    package mutating func optional<Value: Decodable>(_ name: String, _ type: Value.Type = Value.self) throws -> Value? {
        guard let value = fields.removeValue(forKey: name), value != .null else { return nil }
        do { return try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)) } catch {
            throw Problem(.unprocessableContent, "invalidField", "\(place)\(name) has a wrong type or value.")
        }
    }

    package mutating func required<Value: Decodable>(_ name: String, _ type: Value.Type = Value.self) throws -> Value {
        guard let value = try optional(name, type) else {
            throw Problem(.unprocessableContent, "missingField", "\(place)\(name) is missing.")
        }
        return value
    }

    /// The objects of a list, each to be asked in turn.
    package mutating func objects(_ name: String) throws -> [JSONBody]? {
        guard let list = try optional(name, [JSONValue].self) else { return nil }
        return try list.enumerated().map { index, value in
            guard case .object(let fields) = value else {
                throw Problem(.unprocessableContent, "invalidField", "\(place)\(name)[\(index)] must be an object.")
            }
            return JSONBody(fields, place: "\(place)\(name)[\(index)].")
        }
    }

    package mutating func object(_ name: String) throws -> JSONBody? {
        guard let fields = try optional(name, [String: JSONValue].self) else { return nil }
        return JSONBody(fields, place: "\(place)\(name).")
    }

    /// Every field that is left, such as the settings of a change.
    package mutating func rest() -> [String: JSONValue] {
        defer { fields = [:] }
        return fields
    }

    /// Call after the last field has been asked for.
    package func finish() throws {
        guard let name = fields.keys.min() else { return }
        throw Problem(
            .unprocessableContent,
            "unknownField",
            "There is no field named \(place)\(String(name.prefix(60)))."
        )
    }

    /// The bytes of a value as JSON.
    static func buffer(_ value: some Encodable) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        do { return ByteBuffer(data: try encoder.encode(value)) } catch {
            // Only numbers that are not finite cannot be encoded, and no value of the API has one.
            assertionFailure("\(error)")
            return ByteBuffer(string: "{}")
        }
    }

    static func response(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: [.contentType: "application/json"], body: .init(byteBuffer: buffer(value)))
    }
}
