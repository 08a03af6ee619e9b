internal import Foundation
internal import HaulKit

/// Bytes of a shard around the bytes of its files.
protocol ShardFormat {
    /// Bytes before the first file.
    var opening: [UInt8] { get }
    /// Bytes after the last file.
    var closing: [UInt8] { get }
    /// Bytes immediately before the content of a file.
    func head(of file: StagedFile) -> [UInt8]
    /// Bytes immediately after the content of a file.
    func tail(of file: StagedFile) -> [UInt8]
}

extension ShardSettings.Format {
    /// - Parameter date: the time that the shard names as its own.
    func writer(date: Date) -> any ShardFormat {
        switch self {
        case .tar: TarFormat(date: date)
        case .warc: WARCFormat(date: date)
        }
    }
}

extension StagedFile {
    /// The URL without user name and password, because shards are passed on.
    var shownURL: String { URL(string: url)?.withoutUserInfo().absoluteString ?? "" }

    /// The description of the file in a shard: a JSON object.
    var description: [UInt8] {
        struct Description: Encodable {
            var item: Int64
            var url: String
            var path: String
            var bytes: Int64
            var sha256: String
            var metadata: String?
        }
        let isObject = metadata.map(Self.isObject) ?? false
        let description = Description(
            item: key.item,
            url: shownURL,
            path: path,
            bytes: bytes,
            sha256: sha256.hexadecimal,
            metadata: isObject ? nil : metadata
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts and integers always encode.
        guard var text = try? encoder.encode(description) else { return [] }
        if isObject, let metadata {
            text.removeLast()
            text.append(contentsOf: ",\"metadata\":\(metadata)}".utf8)
        }
        return Array(text)
    }

    private static func isObject(_ text: String) -> Bool {
        // A text that is no JSON is written as a text.
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) is [String: Any]
    }
}
