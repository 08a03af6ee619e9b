public import Foundation

/// The signature of a list's publisher, and the key that the user trusts. Haul fetches no key, and trusts none by
/// default.
public enum SetSignature: Sendable, Hashable {
    /// An OpenPGP signature, checked by `gpgv` or `sqv`.
    ///
    /// The URL is an `http`, `https` or `file` URL of the detached signature, binary or armoured; `nil` for a list that
    /// contains its signature (`-----BEGIN PGP SIGNED MESSAGE-----`). The key ring is the path of a file with the
    /// public keys of those who may sign, binary or armoured.
    case openPGP(URL?, keyring: String)
    /// A signature of minisign, checked by `minisign`.
    ///
    /// The URL is an `http`, `https` or `file` URL of the signature; `nil` for the URL of the list with `.minisig`
    /// behind its path. The key is the path of the public key file, or the key itself (`RW…`).
    case minisign(URL? = nil, key: String)
}
