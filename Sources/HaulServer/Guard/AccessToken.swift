internal import Crypto
internal import Foundation

/// The secret that signs in: minted when the server starts for the first time, and kept in a file that only its owner can read.
package struct AccessToken: Sendable {
    package let text: String
    /// Others could read the file, and cannot any longer.
    package let wasExposed: Bool

    /// Reads the token of a state folder, or mints it.
    package init(stateFolder: String) throws(ServerError) {
        let path = stateFolder + "/token"
        let found: (text: String, wasExposed: Bool)?
        do { found = try Self.read(path) } catch let error as SecretFile.Failure where error.isMissing {
            found = nil
        } catch { throw ServerError("The token \(path) cannot be read: \(error)") }
        // Earlier versions left an empty file where the disk was full at their first start. No client can sign in with it.
        if let found, !found.text.isEmpty {
            (text, wasExposed) = found
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
        (text, wasExposed) = (minted, false)
    }

    /// - Returns: an empty text for an empty file.
    private static func read(_ path: String) throws -> (String, Bool) {
        let (bytes, isExposed) = try SecretFile.read(path)
        if bytes.isEmpty { return ("", isExposed) }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.utf8.count >= 16 else { throw SecretFile.Failure(text: "it is shorter than 16 characters") }
        return (text, isExposed)
    }

    /// 256 random bits, as base64url.
    static func random() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { base64url(Data($0)) }
    }

    static func base64url(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Compares digests, so that the time tells nothing about the token.
    func isEqual(to other: String) -> Bool {
        SHA256.hash(data: Data(other.utf8)) == SHA256.hash(data: Data(text.utf8))
    }
}
