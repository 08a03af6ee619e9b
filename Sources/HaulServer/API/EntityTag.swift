internal import Crypto
internal import Foundation
internal import NIOCore
internal import NIOFoundationCompat

/// Entity tags of answers (RFC 9110 §8.8.3).
enum EntityTag {
    /// Returns a tag that is the same for the same bytes.
    static func of(_ bytes: ByteBuffer) -> String {
        let digest = SHA256.hash(data: Data(buffer: bytes)).prefix(9)
        return "\"\(AccessToken.base64url(Data(digest)))\""
    }

    /// Returns whether an `If-None-Match` field names a tag (RFC 9110 §13.1.2). `nil` names none.
    static func isNamed(_ tag: String, by field: String?) -> Bool {
        guard let field else { return false }
        // A tag of this server has no comma, so an item with a part of another server's tag is never equal to it.
        return field.split(separator: ",").contains { item in
            let item = item.trimmingCharacters(in: .whitespaces)
            return item == "*" || item == tag || item == "W/" + tag
        }
    }
}
