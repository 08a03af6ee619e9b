internal import HaulKit

/// The queue's record of a multipart upload: its identifier, and the content for which it was started.
///
/// The store receives the digest of the whole object when the upload starts; the digest cannot change later. An upload
/// that was started for one version of the file must therefore not be completed with parts of another version, even if
/// some parts are equal.
struct UploadToken: Sendable, Hashable, CustomStringConvertible {
    /// The first half of the content's SHA-256 in hexadecimal.
    let content: String
    let id: String

    var description: String { "\(content):\(id)" }

    init(sha256: [UInt8], id: String) {
        (content, self.id) = (Self.content(sha256), id)
    }

    /// Parses a ``description``; returns `nil` for any other text.
    init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        (content, id) = (String(text[..<colon]), String(text[text.index(after: colon)...]))
        guard content.utf8.count == 32, content.utf8.allSatisfy({ $0.hexadecimalValue != nil }), !id.isEmpty else {
            return nil
        }
    }

    func isOf(_ sha256: [UInt8]) -> Bool { content == Self.content(sha256) }

    private static func content(_ sha256: [UInt8]) -> String { sha256.prefix(16).hexadecimal }
}
