internal import Foundation

/// The armour in which OpenPGP keys are published as text (RFC 9580 §6).
package enum OpenPGPArmour {
    private static let start = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
    private static let end = "-----END PGP PUBLIC KEY BLOCK-----"

    /// Returns the keys of all blocks of a text as binary. Other bytes are returned as they are: they are binary
    /// already, or the program that reads them refuses them.
    package static func binary(_ bytes: [UInt8]) -> [UInt8] {
        guard let text = String(validating: bytes, as: UTF8.self) else { return bytes }
        var keys: [UInt8] = []
        var block: String?
        var isInHeaders = false
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line == start {
                (block, isInHeaders) = ("", true)
            } else if line == end {
                // Skips a block that cannot be decoded, so that its keys prove no signature.
                if let data = block.flatMap({ Data(base64Encoded: $0) }) { keys += data }
                block = nil
            } else if line.isEmpty {
                isInHeaders = false
            } else if block != nil, !isInHeaders, !line.hasPrefix("=") {
                block?.append(line)
            }
        }
        return keys.isEmpty ? bytes : keys
    }
}
