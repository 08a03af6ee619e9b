import ArgumentParser
import CommandWords
import Foundation
import HaulKit

/// The list of digests for the files of `haul get`, and its signature.
struct ChecksumListOptions: ParsableArguments {
    @Option(
        help: """
            List with the digests of the files, such as SHA256SUMS; file or URL. A file that it does not name is not \
            fetched.
            """,
        completion: .file()
    )
    var checksums: String?

    @OptionGroup var signature: SignatureOptions

    func validate() throws {
        guard checksums == nil, signature.keyring != nil || signature.minisign != nil else { return }
        throw ValidationError("--keyring and --minisign prove a list: name it with --checksums.")
    }

    /// - Returns: `nil` without a list.
    func source() throws -> ChecksumListSource? {
        guard let checksums else { return nil }
        let signed = try signature.value()
        if checksums.contains("://") { return ChecksumListSource(try GetOptions.url(checksums), signature: signed) }
        guard FileManager.default.isReadableFile(atPath: checksums) else {
            throw Complaint("\(SetSourceText.shown(checksums)) cannot be read.", .usage)
        }
        return ChecksumListSource(comparing: checksums, signature: signed)
    }
}
