package import Foundation
internal import HTTPTypes
package import Logging

/// The keys of connected browser extensions. A file of mode 0600 keeps the digest of each key, so that no file contains
/// a key.
///
/// A key may do what ``KeyScope`` lists, with the downloads and sets that it added itself, until a signed-in user or
/// the extension revokes the key.
package actor ScopedKeys {
    /// A key without its secret.
    package struct Key: Codable, Hashable, Sendable {
        /// Identifies the key in lists; no secret.
        package var id: String
        /// The name that the extension gave, such as that of its browser.
        package var name: String
        package var addedAt: Date

        /// The ``DownloadRequest/owner`` of the downloads that the key added.
        package var owner: String { "key:" + id }
    }

    private struct Saved: Codable {
        var keys: [String: Key]
    }

    private static let limit = 100

    private let path: String
    private let logger: Logger
    /// Keys by the digest of their secret.
    private var keys: [String: Key] = [:]

    package init(stateFolder: String, logger: Logger) {
        path = stateFolder + "/keys.json"
        self.logger = logger
        let consequence = "Every browser extension must be connected again."
        if let saved = SecretFile.decode(Saved.self, from: path, logger, consequence: consequence) { keys = saved.keys }
    }

    /// Creates a key.
    ///
    /// - Returns: the key, and its secret for the extension.
    func make(named name: String) throws(Problem) -> (key: Key, secret: String) {
        guard keys.count < Self.limit else {
            throw Problem(
                .conflict,
                "tooManyKeys",
                "There are \(Self.limit) keys already.",
                suggestion: "Revoke those that are not in use, in the settings of the page."
            )
        }
        let secret = AccessToken.random()
        let key = Key(id: String(AccessToken.random().prefix(16)), name: name, addedAt: Date())
        keys[AccessToken.digest(of: secret)] = key
        do { try save() } catch {
            logger.warning("Keys of extensions cannot be kept over a restart: \(path): \(error)")
        }
        return (key, secret)
    }

    /// Returns the key of a secret; `nil` if there is none.
    package func key(_ secret: String) -> Key? { keys[AccessToken.digest(of: secret)] }

    /// The keys, the newest last.
    var list: [Key] { keys.values.sorted { ($0.addedAt, $0.id) < ($1.addedAt, $1.id) } }

    /// Revokes a key. Returns whether there was one with this id.
    ///
    /// - Throws: ``Problem`` if the file cannot be written. The key is then revoked until the daemon starts again.
    func revoke(_ id: String) throws(Problem) -> Bool {
        guard let digest = keys.first(where: { $0.value.id == id })?.key else { return false }
        keys[digest] = nil
        do { try save() } catch {
            throw Problem(
                .internalServerError,
                "keyNotSaved",
                "The key is revoked, but will be valid again after a restart, because \(path) cannot be written.",
                cause: "\(error)"
            )
        }
        return true
    }

    private func save() throws { try SecretFile.replace(path, Array(JSONEncoder().encode(Saved(keys: keys)))) }
}
