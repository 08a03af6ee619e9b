internal import Foundation

/// The part of a list that its signature covers, and the signer. If no signature is to be checked, the part is the
/// whole list, without the signature that the list may contain.
struct SignedList {
    let bytes: [UInt8]
    /// The signer's name or key; `nil` if no signature was checked.
    let signer: String?

    /// Checks the signature of a list.
    ///
    /// - Parameter place: the URL of the list, perhaps a `file` URL.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/unprovedSet`` for a signature that is missing, wrong
    ///   or by another key, ``DownloadError/Code/programMissing`` without a program to check it, disk codes, and the
    ///   codes of a download of the signature.
    init(_ bytes: [UInt8], at place: URL, _ signature: SetSignature?, _ documents: SetDocuments)
        async throws(DownloadError)
    {
        guard let signature else {
            self.bytes = ClearSigned.text(bytes) ?? bytes
            signer = nil
            return
        }
        switch signature {
        case .minisign(let url, let key):
            let proof = try await Self.signature(at: url ?? place.withSuffix(".minisig"), documents)
            signer = try await SignatureCheck.minisign(bytes, proof, key: key)
            self.bytes = bytes
        case .openPGP(let url, let keyring):
            let keys = OpenPGPArmour.binary(try await SetFile.read(keyring))
            if let url {
                let proof = try await Self.signature(at: url, documents)
                signer = try await SignatureCheck.openPGP(bytes, proof, keys: keys)
                self.bytes = bytes
            } else {
                guard ClearSigned.isOne(bytes) else {
                    throw DownloadError(
                        .unprovedSet,
                        "\(place.masked) is not signed in itself. Name its signature."
                    )
                }
                (self.bytes, signer) = try await SignatureCheck.clearSigned(bytes, keys: keys)
            }
        }
    }

    private static func signature(at url: URL, _ documents: SetDocuments) async throws(DownloadError) -> [UInt8] {
        do throws(DownloadError) {
            return url.isFileURL ? try await SetFile.read(url.path) : try await documents.read(url).bytes
        } catch {
            let isMissing = url.isFileURL ? error.code == .diskFailed : error.code == .refusedByServer
            guard isMissing else { throw error }
            throw DownloadError(
                .unprovedSet,
                "There is no signature at \(url.isFileURL ? url.path : url.masked). No file was asked for.",
                cause: error.message
            )
        }
    }
}

extension URL {
    /// Returns the URL with `suffix` appended to its path, without query and fragment.
    fileprivate func withSuffix(_ suffix: String) -> URL {
        guard !isFileURL, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
            return URL(fileURLWithPath: path + suffix)
        }
        parts.percentEncodedPath += suffix
        (parts.query, parts.fragment) = (nil, nil)
        return parts.url ?? self
    }
}
