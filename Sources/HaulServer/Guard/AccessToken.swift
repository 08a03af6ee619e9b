internal import Crypto
internal import Foundation

/// The bearer token. The first start of the server creates it in a file that only its owner can read.
package struct AccessToken: Sendable {
    package let text: String
    /// Whether other users could read the file until now. The file has mode 0600 now.
    package let wasExposed: Bool
    /// Whether the file was empty. If so, the file has a new token now, and the token that clients have is wrong.
    package let wasEmpty: Bool

    /// Reads the token of a state folder, or creates one.
    package init(stateFolder: String) throws(ServerError) {
        let path = stateFolder + "/token"
        let found: (text: String, wasExposed: Bool)?
        do { found = try Self.read(path) } catch let error as SecretFile.Failure where error.isMissing {
            found = nil
        } catch {
            throw ServerError(
                "The token \(path) cannot be used: \(error). Move the file away; the next start writes a new token."
            )
        }
        // Replaces an empty file, because no client can sign in with an empty token. Earlier versions left an empty
        // file if the disk was full at their first start.
        if let found, !found.text.isEmpty {
            (text, wasExposed) = found
            wasEmpty = false
            return
        }
        let minted = Self.random()
        do {
            if found == nil {
                try SecretFile.create(path, minted + "\n")
            } else {
                try SecretFile.replace(path, Array((minted + "\n").utf8))
            }
        } catch { throw ServerError("The token \(path) cannot be written: \(error)") }
        (text, wasExposed, wasEmpty) = (minted, false, found != nil)
    }

    /// Reads the token of a file.
    ///
    /// - Returns: the token, empty for an empty file, and whether other users could read the file.
    private static func read(_ path: String) throws -> (String, Bool) {
        let (bytes, isExposed) = try SecretFile.read(path)
        if bytes.isEmpty { return ("", isExposed) }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.utf8.count >= 16 else { throw SecretFile.Failure(text: "it is shorter than 16 characters") }
        guard text.utf8.count <= 4096 else { throw SecretFile.Failure(text: "it is longer than 4096 characters") }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SecretFile.Failure(text: "it has characters that a header field cannot hold")
        }
        return (text, isExposed)
    }

    /// Returns 256 random bits as base64url.
    package static func random() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { base64url(Data($0)) }
    }

    static func base64url(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns the digest of a secret. Files contain the digest in place of the secret.
    static func digest(of secret: String) -> String { base64url(Data(SHA256.hash(data: Data(secret.utf8)))) }

    /// Compares digests, so that the time of the comparison reveals nothing about the token.
    package func isEqual(to other: String) -> Bool {
        SHA256.hash(data: Data(other.utf8)) == SHA256.hash(data: Data(text.utf8))
    }
}
