internal import Crypto
internal import Foundation

/// The secret of `--rpc-secret`, with which the parameters of each call must begin. ``Aria2Calls`` checks it, and knows
/// the methods that need none.
package struct Aria2Secret: Sendable {
    private let digest: SHA256.Digest

    /// - Returns: `nil` for an empty text, which is no secret.
    package init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        digest = SHA256.hash(data: Data(text.utf8))
    }

    /// Compares digests, so that the time of the comparison reveals nothing about the secret.
    func isEqual(to other: some StringProtocol) -> Bool { SHA256.hash(data: Data(other.utf8)) == digest }
}

/// The token of a call: its first parameter, as `token:SECRET`.
struct Aria2Token {
    private static let prefix = "token:"

    /// Removes the token from the parameters, even if no secret is set. Returns `nil` if there is no token.
    static func take(from parameters: inout [Aria2Value]) -> Substring? {
        guard case .text(let text)? = parameters.first, text.hasPrefix(prefix) else { return nil }
        parameters.removeFirst()
        return text.dropFirst(prefix.count)
    }
}
