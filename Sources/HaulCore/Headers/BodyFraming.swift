/// The mark of the end of a response's body (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Equatable {
    case length(Int64)
    case chunked
    /// The body ends with the connection, so nothing proves that the body is complete.
    case untilClose
    /// The fields contradict each other, or name a coding that Haul does not read. The text describes the fault.
    case malformed(String)

    package init(_ headers: HeaderFields) {
        let codings = headers.elements(of: "Transfer-Encoding").map { $0.lowercased() }
        switch codings {
        // `identity` was once a legal name for no coding (RFC 2616 §3.6), so a length beside it counts.
        case [], ["identity"]: self = Self.length(headers["Content-Length"])
        // `chunked` overrides a length. It must be the only coding, because two chunked layers, or another coding below
        // `chunked`, would not give the bytes of a file.
        case ["chunked"]: self = .chunked
        default:
            let named = codings.map { Self.knownCodings.contains($0) ? $0 : "an unknown one" }
            self = .malformed("a transfer coding that Haul does not read: \(Self.quoted(named))")
        }
    }

    private static func length(_ values: [String]) -> BodyFraming {
        var length: Int64?
        for text in values {
            let members = HeaderFields.elements(text)
            let numbers = members.compactMap { $0.utf8.allSatisfy { (48...57).contains($0) } ? Int64($0) : nil }
            guard let value = numbers.first, numbers.count == members.count else {
                return .malformed(
                    members.first(where: isTooLong).map { "a length of more bytes than any file has: \(quoted([$0]))" }
                        ?? "a length that is no number"
                )
            }
            // Careless intermediaries repeat the length. Equal lengths may be taken for one (RFC 9112 §6.3).
            guard numbers.allSatisfy({ $0 == length ?? value }) else {
                return .malformed("two lengths that differ: \(quoted(values))")
            }
            length = value
        }
        return length.map { .length($0) } ?? .untilClose
    }

    /// Whether the text has digits only, but exceeds 64 bits.
    private static func isTooLong(_ text: String) -> Bool {
        text.utf8.allSatisfy { (48...57).contains($0) } && Int64(text) == nil
    }

    /// Codings that a message may name. It names no other text of the server, which may be the cookie of the request.
    private static let knownCodings: Set = [
        "chunked", "identity", "gzip", "x-gzip", "deflate", "compress", "br", "zstd",
    ]

    /// Joins names and numbers for a message, and keeps the first 60 Unicode scalars, because a message is one line.
    private static func quoted(_ members: [String]) -> String {
        String(String.UnicodeScalarView(members.joined(separator: ", ").unicodeScalars.prefix(60)))
    }
}
