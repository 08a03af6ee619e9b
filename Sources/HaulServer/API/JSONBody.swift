internal import Crypto
internal import Foundation
internal import HTTPTypes
internal import HaulKit
package import Hummingbird
internal import NIOCore
internal import NIOFoundationCompat

/// The JSON object in the body of a request. The caller reads each field by name. ``finish()`` refuses any field that
/// was not read, so that a misspelled option is never ignored.
package struct JSONBody {
    private var fields: [String: JSONValue]
    private let place: String
    /// The received bytes; empty for an object within a body.
    private var bytes = ByteBuffer()
    /// SHA-256 of the received bytes in base64url, to tell a repeated body from another one.
    package var digest: String { AccessToken.base64url(Data(SHA256.hash(data: Data(buffer: bytes)))) }

    package init(_ fields: [String: JSONValue], place: String = "") { (self.fields, self.place) = (fields, place) }

    /// Reads the body of a request: `application/json` of at most `limit` bytes.
    package init(_ request: Request, limit: Int = 8 << 20) async throws {
        guard let type = request.headers[.contentType]?.split(separator: ";").first,
            type.trimmingCharacters(in: .whitespaces).lowercased() == "application/json"
        else { throw Problem(.unsupportedMediaType, "unsupportedMediaType", "The body must be application/json.") }
        let buffer = try await Self.read(request, limit: limit)
        // Limits the depth, because the decoder's time grows with the third power of the depth.
        guard JSONDepth.isAtMost(Self.mostDepth, buffer.readableBytesView) else {
            throw Problem.badRequest("The body is nested more than \(Self.mostDepth) levels deep.")
        }
        do {
            guard case .object(let fields) = try JSONDecoder().decode(JSONValue.self, from: Data(buffer: buffer)) else {
                throw Problem.badRequest("The body must be a JSON object.")
            }
            self.init(fields)
        } catch is DecodingError { throw Problem.badRequest("The body is not JSON.") }
        bytes = buffer
    }

    private static let mostDepth = 16
    /// Time limit for receiving the body.
    private static let time = Duration.seconds(30)

    private static func read(_ request: Request, limit: Int) async throws -> ByteBuffer {
        do {
            return try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
                group.addTask { try await request.body.collect(upTo: limit) }
                group.addTask {
                    try await Task.sleep(for: time)
                    return nil
                }
                defer { group.cancelAll() }
                guard let buffer = try await group.next() ?? nil else {
                    throw Problem(
                        .requestTimeout,
                        "requestTimeout",
                        "The body did not arrive within \(time.components.seconds) s."
                    )
                }
                return buffer
            }
        } catch is NIOTooManyBytesError {
            throw Problem(.contentTooLarge, "contentTooLarge", "The body is larger than \(limit) bytes.")
        }
    }

    /// Removes and decodes a field. Returns `nil` if the field is missing or null.
    package mutating func optional<Value: Decodable>(_ name: String, _ type: Value.Type = Value.self) throws -> Value? {
        guard let value = fields.removeValue(forKey: name), value != .null else { return nil }
        do { return try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)) } catch {
            throw Problem.invalidField("\(place)\(name) has a wrong type or value.")
        }
    }

    package mutating func required<Value: Decodable>(_ name: String, _ type: Value.Type = Value.self) throws -> Value {
        guard let value = try optional(name, type) else {
            throw Problem(.unprocessableContent, "missingField", "\(place)\(name) is missing.")
        }
        return value
    }

    /// Reads a text for people: at most `limit` bytes, without control characters.
    package mutating func text(_ name: String, upTo limit: Int) throws -> String? {
        guard let text = try optional(name, String.self) else { return nil }
        if let problem = Self.problem(of: text, "\(place)\(name)", upTo: limit) { throw problem }
        return text
    }

    /// Reads the name of a group; `nil` for a blank name.
    mutating func group() throws -> String? {
        try text("group", upTo: 200).flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }

    /// Reads a priority, whose range `openapi.json` states.
    mutating func priority() throws -> Int? {
        guard let priority = try optional("priority", Int.self) else { return nil }
        guard (-1_000_000...1_000_000).contains(priority) else {
            throw Problem.invalidField("\(place)priority must be from -1000000 to 1000000.")
        }
        return priority
    }

    /// Returns a problem if `text` is longer than `limit` bytes or has control characters; `nil` if `text` is valid.
    package static func problem(of text: String, _ name: String, upTo limit: Int) -> Problem? {
        guard text.utf8.count <= limit else {
            return Problem.invalidField("\(name) is longer than \(limit) bytes.")
        }
        let hidden: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]
        guard text.unicodeScalars.contains(where: { hidden.contains($0.properties.generalCategory) }) else {
            return nil
        }
        return Problem.invalidField("\(name) has control characters.")
    }

    /// Removes a field that is a list of objects, and returns a body for each object. Returns `nil` if the field is
    /// missing or null.
    package mutating func objects(_ name: String) throws -> [JSONBody]? {
        guard let list = try optional(name, [JSONValue].self) else { return nil }
        return try list.enumerated().map { index, value in
            guard case .object(let fields) = value else {
                throw Problem.invalidField("\(place)\(name)[\(index)] must be an object.")
            }
            return JSONBody(fields, place: "\(place)\(name)[\(index)].")
        }
    }

    package mutating func object(_ name: String) throws -> JSONBody? {
        guard let fields = try optional(name, [String: JSONValue].self) else { return nil }
        return JSONBody(fields, place: "\(place)\(name).")
    }

    /// Removes and returns all remaining fields, for a body whose field names the caller looks up, such as names of
    /// settings.
    package mutating func rest() -> [String: JSONValue] {
        defer { fields = [:] }
        return fields
    }

    /// Refuses the first remaining field. Call this method after the last field has been read.
    package func finish() throws {
        guard let name = fields.keys.min() else { return }
        throw Problem(
            .unprocessableContent,
            "unknownField",
            "There is no field named \(place)\(String(name.prefix(60)))."
        )
    }

    /// Encodes a value as JSON.
    ///
    /// - Parameter isSorted: whether equal values give equal bytes. Otherwise the order of the keys may differ.
    package static func buffer(_ value: some Encodable, isSorted: Bool = false) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = isSorted ? [.withoutEscapingSlashes, .sortedKeys] : .withoutEscapingSlashes
        do { return ByteBuffer(data: try encoder.encode(value)) } catch {
            // Only non-finite numbers cannot be encoded, and no value of the API has one.
            assertionFailure("\(error)")
            return ByteBuffer(string: "{}")
        }
    }

    package static func response(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: [.contentType: "application/json"], body: .init(byteBuffer: buffer(value)))
    }
}

extension JSONBody {
    /// Answers GET with a value and its entity tag, or with 304 if `If-None-Match` names the tag.
    package static func response(_ value: some Encodable, to request: Request) -> Response {
        let response = tagged(value)
        if let tag = response.headers[.eTag], EntityTag.isNamed(tag, by: request.headers[.ifNoneMatch]) {
            return Response(status: .notModified, headers: [.eTag: tag])
        }
        return response
    }

    /// Answers with a value and its entity tag.
    package static func tagged(_ value: some Encodable) -> Response {
        let bytes = buffer(value, isSorted: true)
        let tag = EntityTag.of(bytes)
        return Response(
            status: .ok,
            headers: [.contentType: "application/json", .eTag: tag],
            body: .init(byteBuffer: bytes)
        )
    }
}

/// Finds out how deeply a JSON text is nested, without decoding it.
enum JSONDepth {
    /// Returns whether a text is nested at most `limit` levels deep. Ignores brackets in strings. Does not check that
    /// the text is valid JSON, because the decoder does that afterwards.
    static func isAtMost(_ limit: Int, _ bytes: some Sequence<UInt8>) -> Bool {
        var (depth, isInString, isEscaped) = (0, false, false)
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte
                    == UInt8(ascii: "\"")
                {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > limit { return false }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return true
    }
}
