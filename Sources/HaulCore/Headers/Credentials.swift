internal import Foundation

/// A user name and a password as bytes, because a URL may contain text of any encoding.
package struct Credentials: Sendable, Hashable {
    package let user: [UInt8]
    package let password: [UInt8]

    /// Splits `user:password` at the first colon, because a user name has none (RFC 7617 §2).
    package init(_ bytes: [UInt8]) {
        let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        user = Array(bytes[..<colon])
        password = Array(bytes[colon...].dropFirst())
    }

    package init(_ text: String) { self.init(Array(text.utf8)) }

    /// The value of `Authorization` in the Basic scheme (RFC 7617).
    package var basic: String { "Basic " + Data(user + [UInt8(ascii: ":")] + password).base64EncodedString() }
}

/// Source of a request's credentials.
package enum CredentialSource: String, Sendable, Codable {
    case url, netrc
    /// An `Authorization` field of the user.
    case header
}
