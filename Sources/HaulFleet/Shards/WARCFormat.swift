internal import Foundation
internal import HaulKit

/// A web archive (WARC 1.1, ISO 28500:2017): a record `warcinfo`, and for each item a record `resource` with the file
/// and a record `metadata` with what the queue knows of it.
///
/// The records are of the type `resource` and not `response`, because the header of the response is not kept, and a file
/// may come from several responses.
struct WARCFormat: ShardFormat {
    let date: Date

    var opening: [UInt8] {
        let body = "software: Haul/\(Downloader.version)\r\nformat: WARC File Format 1.1\r\n"
        return head("warcinfo", [("Content-Type", "application/warc-fields")], Int64(body.utf8.count))
            + Array(body.utf8)
            + Self.end
    }

    var closing: [UInt8] { [] }

    func head(of file: StagedFile) -> [UInt8] {
        let digest = "sha256:\(Base32.text(file.sha256))"
        return head(
            "resource",
            [
                ("WARC-Target-URI", file.shownURL), ("WARC-Block-Digest", digest), ("WARC-Payload-Digest", digest),
                ("Content-Type", Self.mediaType(of: file.path)),
            ],
            id: Self.id(file),
            file.bytes
        )
    }

    func tail(of file: StagedFile) -> [UInt8] {
        let description = file.description
        return Self.end
            + head(
                "metadata",
                [
                    ("WARC-Target-URI", file.shownURL), ("WARC-Concurrent-To", Self.id(file)),
                    ("Content-Type", "application/json"),
                ],
                Int64(description.count)
            ) + description + Self.end
    }

    private static let end = Array("\r\n\r\n".utf8)

    private func head(
        _ type: String,
        _ fields: [(String, String)],
        id: String = "<urn:uuid:\(UUID().uuidString.lowercased())>",
        _ bytes: Int64
    ) -> [UInt8] {
        var text = "WARC/1.1\r\nWARC-Type: \(type)\r\nWARC-Record-ID: \(id)\r\n"
        text += "WARC-Date: \(date.formatted(.iso8601))\r\n"
        for (name, value) in fields where !value.isEmpty { text += "\(name): \(value)\r\n" }
        return Array("\(text)Content-Length: \(bytes)\r\n\r\n".utf8)
    }

    /// A UUID of the content and the item, so that the second record can name the first.
    private static func id(_ file: StagedFile) -> String {
        let item = withUnsafeBytes(of: file.key.item.bigEndian) { Array($0) }
        let bytes = Array(file.sha256.prefix(8)) + item
        let hex = Array(bytes.hexadecimal)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(hex[$0]) }
        return "<urn:uuid:\(parts.joined(separator: "-"))>"
    }

    /// Returns the media type that the ending of a path stands for.
    private static func mediaType(of path: String) -> String {
        switch TarFormat.ending(of: path) {
        case "htm", "html": "text/html"
        case "txt": "text/plain"
        case "xml": "application/xml"
        case "data.json": "application/json"
        case "pdf": "application/pdf"
        case "jpg", "jpeg": "image/jpeg"
        case "png": "image/png"
        case "gif": "image/gif"
        case "webp": "image/webp"
        case "svg": "image/svg+xml"
        case "css": "text/css"
        case "js": "text/javascript"
        case "mp4": "video/mp4"
        case "mp3": "audio/mpeg"
        default: "application/octet-stream"
        }
    }
}

/// Base 32 (RFC 4648 §6) with padding; digests in web archives have it.
enum Base32 {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var (text, value, count) = ([UInt8](), 0, 0)
        for byte in bytes {
            (value, count) = (value << 8 | Int(byte), count + 8)
            while count >= 5 {
                count -= 5
                text.append(letters[value >> count & 31])
            }
            value &= (1 << count) - 1
        }
        if count > 0 { text.append(letters[value << (5 - count) & 31]) }
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (8 - text.count % 8) % 8)
        return String(decoding: text + padding, as: UTF8.self)
    }
}
