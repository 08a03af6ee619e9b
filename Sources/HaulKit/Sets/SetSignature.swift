public import Foundation

/// The signature of a list's publisher, and the key that the user trusts. Haul fetches no key, and trusts none by
/// default.
public struct SetSignature: Sendable {
    enum Key: Sendable {
        /// Path of a key ring, binary or armoured.
        case openPGP(keyring: String)
        /// Path of a public key file of minisign, or the key itself.
        case minisign(String)
    }

    let key: Key
    /// URL of the signature, perhaps a `file` URL; `nil` for the usual place.
    let url: URL?

    /// An OpenPGP signature, checked by `gpgv` or `sqv`.
    ///
    /// - Parameters:
    ///   - url: an `http`, `https` or `file` URL of the detached signature, binary or armoured; `nil` for a list that
    ///     is signed in itself (`-----BEGIN PGP SIGNED MESSAGE-----`).
    ///   - keyring: path of a file with the public keys of those who may sign, binary or armoured.
    public static func openPGP(_ url: URL?, keyring: String) -> SetSignature {
        SetSignature(key: .openPGP(keyring: keyring), url: url)
    }

    /// A signature of minisign, checked by `minisign`.
    ///
    /// - Parameters:
    ///   - url: an `http`, `https` or `file` URL of the signature; `nil` for the URL of the list with `.minisig` behind
    ///     its path.
    ///   - key: path of the public key file, or the key itself (`RW…`).
    public static func minisign(_ url: URL? = nil, key: String) -> SetSignature {
        SetSignature(key: .minisign(key), url: url)
    }
}
