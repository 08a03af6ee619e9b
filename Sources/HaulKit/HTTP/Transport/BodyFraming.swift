internal import NIOHTTP1

/// How the end of a response's body is found (RFC 9112 §6.3).
enum BodyFraming: Sendable, Equatable {
    case length(Int64)
    case chunked
    /// The connection's end is the body's: nothing proves that it is whole.
    case untilClose
    /// The fields contradict each other, or name a coding that Haul does not read; the text says which.
    case malformed(String)

    init(_ headers: HTTPHeaders) {
        let codings = headers["Transfer-Encoding"].flatMap(Self.members).map { $0.lowercased() }
        switch codings {
        // `identity` names no coding and was once a legal way to say so (RFC 2616 §3.6): a length beside it counts.
        case [], ["identity"]: self = Self.length(headers["Content-Length"])
        // A length beside it is overridden. Two layers of it, or another coding below it, would be bytes of no file.
        case ["chunked"]: self = .chunked
        default: self = .malformed("a transfer coding that Haul does not read: \(Self.quoted(codings))")
        }
    }

    private static func length(_ values: [String]) -> BodyFraming {
        var length: Int64?
        for text in values {
            let members = members(text)
            let numbers = members.compactMap { $0.utf8.allSatisfy { (48...57).contains($0) } ? Int64($0) : nil }
            guard let value = numbers.first, numbers.count == members.count else {
                return .malformed(
                    members.contains(where: isTooLong)
                        ? "a length of more bytes than any file has: \(quoted([text]))"
                        : "a length that is no number: \(quoted([text]))"
                )
            }
            // Repeated by careless layers in between, it may be taken for one (RFC 9112 §6.3).
            guard numbers.allSatisfy({ $0 == length ?? value }) else {
                return .malformed("two lengths that differ: \(quoted(values))")
            }
            length = value
        }
        return length.map { .length($0) } ?? .untilClose
    }

    /// Digits that name no 64-bit number.
    private static func isTooLong(_ text: String) -> Bool {
        text.utf8.allSatisfy { (48...57).contains($0) } && Int64(text) == nil
    }

    /// The elements of a comma-separated list; empty ones do not count (RFC 9110 §5.6.1.2).
    private static func members(_ value: String) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ",")).compactMap { part in
            let front = part.drop { $0 == 0x20 || $0 == 0x09 }
            guard let end = front.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return nil }
            return String(decoding: front[...end], as: UTF8.self)
        }
    }

    /// Of foreign text as much as a line of a message can hold.
    private static func quoted(_ members: [String]) -> String {
        let text = members.joined(separator: ", ").unicodeScalars.filter { $0.properties.generalCategory != .control }
        return String(String.UnicodeScalarView(text.prefix(60)))
    }
}
