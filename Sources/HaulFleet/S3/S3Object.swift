/// An object that a list names as `s3://BUCKET/KEY`. The key is taken as it is written, without decoding.
package struct S3Object: Sendable, Hashable {
    static let scheme = "s3://"
    /// Maximum length of a key in bytes, of every store.
    static let longestKey = 1024

    let bucket: String
    let key: String

    /// Returns `nil` for text that names no object.
    init?(_ text: String) {
        guard Self.hasScheme(text) else { return nil }
        let parts = text.dropFirst(Self.scheme.count).split(
            separator: "/",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard parts.count == 2, S3Settings.isBucket(parts[0]), (1...Self.longestKey).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        (bucket, key) = (String(parts[0]), String(parts[1]))
    }

    static func hasScheme(_ text: String) -> Bool { text.hasPrefix(scheme) }

    /// The name under which the queue counts the requests to the bucket.
    var hostName: String { Self.hostName(ofBucket: bucket) }

    static func hostName(ofBucket bucket: String) -> String { scheme + bucket }
}
