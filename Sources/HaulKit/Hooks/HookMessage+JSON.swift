internal import Foundation

/// The JSON body of a webhook's request.
extension HookMessage {
    /// The JSON object of ``Downloader/Hook/webhook(_:secret:on:)``. Its keys are in alphabetical order, except
    /// `metadata`, which is last.
    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding cannot fail, because there are only texts, whole numbers and truth values.
        guard var object = (try? encoder.encode(fields)).map(Array.init) else { return [] }
        guard case .download(let download) = subject, let metadata = download.metadata,
            let value = Self.value(metadata, encoder)
        else { return object }
        // Appends the metadata unchanged, because reading and writing would change some numbers. The comma is right,
        // because `event` is always in the object.
        object.removeLast()
        return object + Array(#","metadata":"#.utf8) + value + [UInt8(ascii: "}")]
    }

    /// Returns the metadata as JSON that may be inside other JSON. Text that is not JSON becomes a string.
    private static func value(_ metadata: DownloadRequest.Metadata, _ encoder: JSONEncoder) -> [UInt8]? {
        let bytes = Array(metadata.json.utf8)
        // `JSONSerialization` also accepts a byte order mark and encodings other than UTF-8. Neither may stand inside
        // the JSON of the message (RFC 8259 §8.1).
        let isPlain = !bytes.starts(with: [0xEF, 0xBB, 0xBF]) && !bytes.contains(0)
        // Text that is not JSON causes an error.
        let read = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
        if read != nil, isPlain { return bytes }
        // Every string can be encoded.
        return (try? encoder.encode(metadata.json)).map(Array.init)
    }

    private struct Fields: Encodable {
        struct Failure: Encodable {
            var code: String
            var message: String
            var status: Int?
        }
        var event: String
        var time: String
        var id: String?
        var url: String?
        var path: String?
        var bytes: Int64?
        var total: Int64?
        var key: String?
        var group: String?
        var owner: String?
        var wasThere: Bool?
        var error: Failure?
        var startedAt: String?
        var endedAt: String?
        var completed: Int?
        var failed: Int?
        var paused: Int?
    }

    private var fields: Fields {
        var fields = Fields(event: event.rawValue, time: Self.text(time))
        switch subject {
        case .download(let download):
            fields.id = download.id.description
            fields.url = download.url.masked
            fields.path = download.path
            fields.bytes = download.bytes
            fields.total = download.total
            fields.key = download.key
            fields.group = download.group
            fields.owner = download.owner
            fields.wasThere = download.alreadyExisted ? true : nil
            fields.error = download.error.map { .init(code: $0.code.rawValue, message: $0.message, status: $0.status) }
            fields.startedAt = download.startedAt.map(Self.text)
            fields.endedAt = download.endedAt.map(Self.text)
        case .group(let name, let summary):
            fields.group = name
            fields.completed = summary.completed
            fields.failed = summary.failed
            fields.paused = summary.paused
            fields.bytes = summary.receivedBytes
            fields.total = summary.knownTotalBytes
        case .all(let counts):
            fields.completed = counts.completed
            fields.failed = counts.failed
        }
        return fields
    }

    private static func text(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
