package import ArgumentParser
internal import Foundation
package import HaulKit

/// The signature of a list, and the key that the user trusts.
package struct SignatureOptions: ParsableArguments {
    @Option(help: "OpenPGP signature of the list: a file or a URL.", completion: .file())
    package var signature: String?

    @Option(
        help: "File with the OpenPGP keys that may sign. Without --signature the list has to be signed in itself.",
        completion: .file()
    )
    package var keyring: String?

    @Option(
        help: "Public key of minisign, or its file. The signature is LIST.minisig, unless --signature says otherwise."
    )
    package var minisign: String?

    package init() {}

    package func validate() throws {
        guard keyring == nil || minisign == nil else {
            throw ValidationError("--keyring and --minisign do not go together.")
        }
        guard signature == nil || keyring != nil || minisign != nil else {
            throw ValidationError(
                "--signature proves nothing without a key: name the publisher's with --keyring or --minisign."
            )
        }
    }

    /// Whether any option differs from its default.
    package var isUsed: Bool { signature != nil || keyring != nil || minisign != nil }

    /// - Returns: `nil` without a key.
    /// - Throws: `ValidationError` for a source that has no list to sign, and for a signature whose URL cannot be read.
    package func value(for source: SetSourceText, spelled text: String) throws -> SetSignature? {
        guard let signature = try value() else { return nil }
        switch source {
        case .checksumList, .file: return signature
        default:
            throw ValidationError(
                "--keyring and --minisign prove a list of digests, and \(SetSourceText.shown(text)) is none."
            )
        }
    }

    /// - Returns: `nil` without a key.
    /// - Throws: `ValidationError` for a signature whose URL cannot be read.
    package func value() throws -> SetSignature? {
        let place = try signature.map { text in
            guard text.contains("://") else { return URL(fileURLWithPath: text) }
            do throws(DownloadError) { return try SpelledURL(text).url } catch {
                throw ValidationError(error.message)
            }
        }
        if let keyring { return .openPGP(place, keyring: keyring) }
        return minisign.map { .minisign(place, key: $0) }
    }
}
