internal import Foundation

/// Converts names from the system to text. Paths are `String`s everywhere in Haul. Bytes that are not UTF-8 would
/// become U+FFFD, which names another file or folder, so Haul refuses them.
package enum PathText {
    /// Returns the text of a name; `nil` if its bytes are not UTF-8.
    package static func text(_ bytes: some Collection<UInt8>) -> String? { String(validating: bytes, as: UTF8.self) }

    /// Returns the bytes as text for a message, such as `caf\xE9`.
    package static func shown(_ bytes: some Collection<UInt8>) -> String {
        String(
            bytes.lazy.flatMap { byte -> [Character] in
                if (0x20..<0x7F).contains(byte) { return [Character(UnicodeScalar(byte))] }
                let digits = String(byte, radix: 16, uppercase: true)
                return Array("\\x" + (digits.count < 2 ? "0" : "") + digits)
            }
        )
    }

    /// - Parameter what: name of the value, for the beginning of a sentence.
    package static func refusal(_ what: String, _ bytes: some Collection<UInt8>) -> DownloadError {
        DownloadError(
            .invalidDestination,
            "\(what) is not UTF-8: \(shown(bytes)). Haul uses paths in UTF-8 only. Rename the folder, or name another path."
        )
    }

    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidDestination`` for the first of these
    ///   environment variables that is not UTF-8.
    package static func check(variables names: [String]) throws(DownloadError) {
        for name in names {
            guard let value = getenv(name) else { continue }
            let bytes = UnsafeRawBufferPointer(start: value, count: strlen(value))
            if text(bytes) == nil { throw refusal("The environment variable \(name)", bytes) }
        }
    }
}
