internal import Foundation

/// A user name and a password as bytes, because a URL may contain text of any encoding.
struct Credentials: Sendable, Hashable {
    let user: [UInt8]
    let password: [UInt8]

    /// Splits `user:password` at the first colon, because a user name has none (RFC 7617 §2).
    init(_ bytes: [UInt8]) {
        let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        user = Array(bytes[..<colon])
        password = Array(bytes[colon...].dropFirst())
    }

    init(_ text: String) { self.init(Array(text.utf8)) }

    /// The value of `Authorization` in the Basic scheme (RFC 7617).
    var basic: String { "Basic " + Data(user + [UInt8(ascii: ":")] + password).base64EncodedString() }
}
