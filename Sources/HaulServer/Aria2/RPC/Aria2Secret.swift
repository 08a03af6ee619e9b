internal import Crypto
internal import Foundation

/// What `--rpc-secret` names: a text that each call must begin its parameters with.
package struct Aria2Secret: Sendable {
    private let digest: SHA256.Digest

    /// - Returns: nil for an empty text, which is no secret.
    package init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        digest = SHA256.hash(data: Data(text.utf8))
    }

    /// Compares digests, so that the time tells nothing about the secret.
    func isEqual(to other: some StringProtocol) -> Bool { SHA256.hash(data: Data(other.utf8)) == digest }
}

/// The token of a call, `token:SECRET` as its first parameter.
struct Aria2Token {
    private static let prefix = "token:"

    /// Takes the token off the parameters; it is taken off where no secret is set as well.
    static func take(from parameters: inout [Aria2Value]) -> Substring? {
        guard case .text(let text)? = parameters.first, text.hasPrefix(prefix) else { return nil }
        parameters.removeFirst()
        return text.dropFirst(prefix.count)
    }
}
