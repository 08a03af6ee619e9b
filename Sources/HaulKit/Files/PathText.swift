internal import Foundation

/// Names from the system as text. Paths are `String`s everywhere in Haul: bytes that are not UTF-8 would become U+FFFD, which names
/// another file or folder. They are refused instead.
package enum PathText {
    /// The text of a name; `nil` where its bytes are not UTF-8.
    package static func text(_ bytes: some Collection<UInt8>) -> String? { String(validating: bytes, as: UTF8.self) }

    /// The bytes for a message: `caf\xE9`.
    package static func shown(_ bytes: some Collection<UInt8>) -> String {
        String(
            bytes.lazy.flatMap { byte -> [Character] in
                if (0x20..<0x7F).contains(byte) { return [Character(UnicodeScalar(byte))] }
                let digits = String(byte, radix: 16, uppercase: true)
                return Array("\\x" + (digits.count < 2 ? "0" : "") + digits)
            }
        )
    }

    /// - Parameter what: names the value, as the beginning of a sentence.
    package static func refusal(_ what: String, _ bytes: some Collection<UInt8>) -> DownloadError {
        DownloadError(
            .invalidDestination,
            "\(what) is not UTF-8: \(shown(bytes)). Haul uses paths in UTF-8 only. Rename the folder, or name another path."
        )
    }

    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidDestination`` for the first of these variables of the
    ///   environment that is not UTF-8.
    package static func check(variables names: [String]) throws(DownloadError) {
        for name in names {
            guard let value = getenv(name) else { continue }
            let bytes = UnsafeRawBufferPointer(start: value, count: strlen(value))
            if text(bytes) == nil { throw refusal("The environment variable \(name)", bytes) }
        }
    }
}
