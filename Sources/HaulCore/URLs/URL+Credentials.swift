package import Foundation

extension URL {
    package func withoutUserInfo() -> URL {
        guard user != nil || password != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
            return self
        }
        parts.user = nil
        parts.password = nil
        return parts.url ?? self
    }

    /// Returns this URL with the user info of `other`; unchanged if `other` has none.
    package func withUserInfo(of other: URL) -> URL {
        guard let user = other.user(percentEncoded: true),
            var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        parts.percentEncodedUser = user
        parts.percentEncodedPassword = other.password(percentEncoded: true)
        return parts.url ?? self
    }

    /// The user info as the bytes of `user:password` (RFC 7617); `nil` if there is none. The type is not `String`,
    /// because escapes may stand for text of any encoding.
    package var credentials: [UInt8]? {
        guard let user = user(percentEncoded: true) else { return nil }
        let decoded = [user, password(percentEncoded: true) ?? ""].map { text in
            FileName.percentDecoded(Array(text.utf8)[...]) ?? Array(text.utf8)
        }
        return decoded[0] + [UInt8(ascii: ":")] + decoded[1]
    }
}
