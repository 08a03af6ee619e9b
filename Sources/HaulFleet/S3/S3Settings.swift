internal import Foundation

/// A bucket of an S3-compatible store, and how it is reached.
package struct S3Settings: Sendable, Hashable {
    package enum Addressing: String, Sendable, Hashable, Codable, CaseIterable {
        /// The bucket in the host name at Amazon, where its name allows that, and in the path elsewhere.
        case automatic
        case path
        case virtualHost = "virtual-host"
    }

    package var bucket: String
    /// What every key begins with, without the slash behind it; empty for keys that are the paths of the list.
    package var prefix: String
    package var region: String
    /// `http` or `https` URL of another store than Amazon's.
    package var endpoint: String?
    package var addressing = Addressing.automatic
    /// Least size of a part; objects of at most this size are sent in one request.
    package var partSize: Int64 = 8 << 20
    /// Parts of one object sent at once.
    package var partsAtOnce = 4
    /// Requests at once, of all objects.
    package var connections = 16
    /// Sends a SHA-256 with each part that the store keeps; switched off by itself where the store refuses.
    package var sendsChecksums = true
    /// Attempts of a request.
    package var attempts = 6
    /// The wait after the first failed attempt is random below this, and doubles with each.
    package var retryDelay = Duration.milliseconds(250)
    package var longestRetryDelay = Duration.seconds(20)
    /// Longest silence of the store, while it is sent something as well as before and within its answer.
    package var idleTimeout = Duration.seconds(60)
    package var connectTimeout = Duration.seconds(10)

    package init(bucket: String, prefix: String = "", region: String = "us-east-1", endpoint: String? = nil) {
        (self.bucket, self.prefix, self.region, self.endpoint) = (bucket, prefix, region, endpoint)
    }
}

extension S3Settings {
    /// The settings for `s3://BUCKET/PREFIX` and what the environment says of region and endpoint (`AWS_REGION`,
    /// `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`).
    package init(_ text: String, environment: [String: String]) throws(FleetError) {
        guard text.hasPrefix("s3://") else {
            throw FleetError(.invalidInput, "\(RelativePath.quoted(text)) is not of the form s3://BUCKET/PREFIX.")
        }
        let rest = text.dropFirst(5)
        let bucket = rest.prefix { $0 != "/" }
        guard (3...63).contains(bucket.utf8.count), bucket.utf8.allSatisfy(Self.isOfBucket) else {
            throw FleetError(.invalidInput, "\(RelativePath.quoted(String(bucket))) is no name of a bucket.")
        }
        var prefix = rest.dropFirst(bucket.count + 1)
        if prefix.hasSuffix("/") { prefix = prefix.dropLast() }
        self.init(bucket: String(bucket), prefix: String(prefix))
        func value(_ names: String...) -> String? { names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } }
        region = value("AWS_REGION", "AWS_DEFAULT_REGION") ?? region
        endpoint = value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    }

    private static func isOfBucket(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
