internal import Crypto
internal import Foundation
internal import HTTPTypes
internal import NIOCore
internal import NIOFoundationCompat

/// Entity tags of answers (RFC 9110 §8.8.3).
enum EntityTag {
    /// Returns a tag that is the same for the same bytes.
    static func of(_ bytes: ByteBuffer) -> String {
        let digest = SHA256.hash(data: Data(buffer: bytes)).prefix(9)
        return "\"\(AccessToken.base64url(Data(digest)))\""
    }

    /// Checks an `If-Match` field (RFC 9110 §13.1.1). The comparison is strong: a weak tag never matches.
    ///
    /// - Throws: ``Problem`` if the field exists and does not name the tag.
    static func check(_ tag: String, isNamedBy field: String?) throws(Problem) {
        guard let field else { return }
        guard items(field).contains(where: { ["*", tag].contains($0) }) else {
            throw Problem(
                .preconditionFailed,
                "preconditionFailed",
                "This was changed meanwhile, and its entity tag is another one than If-Match names.",
                suggestion: "Read it again, and then change it."
            )
        }
    }

    /// Returns whether an `If-None-Match` field names a tag (RFC 9110 §13.1.2). A missing field names no tag.
    static func isNamed(_ tag: String, by field: String?) -> Bool {
        guard let field else { return false }
        return items(field).contains { ["*", tag, "W/" + tag].contains($0) }
    }

    /// Splits at each comma, even within a tag. Tags of this server contain no comma, so no part of a split tag
    /// matches.
    private static func items(_ field: String) -> [String] {
        field.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
