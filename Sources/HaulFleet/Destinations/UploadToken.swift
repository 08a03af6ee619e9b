internal import HaulKit

/// What the queue records of a multipart upload: its identifier, and which content it was started for.
///
/// The digest of the whole object is given to the store when the upload is started, and cannot be changed. An upload that was started
/// for another version of the file must not be completed with the parts of this one, though they may have parts in common.
struct UploadToken: Sendable, Hashable, CustomStringConvertible {
    /// The first half of the content's SHA-256, in hexadecimal digits.
    let content: String
    let id: String

    var description: String { "\(content):\(id)" }

    init(sha256: [UInt8], id: String) {
        (content, self.id) = (Self.content(sha256), id)
    }

    /// - Returns: nil for a text that this type has not made.
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
